import type { Params } from './params.ts'

const NAMES = ['signal', 'requestId', 'requestUrl', 'requestMethod', 'address'] as const

/** What a transport knows of one call, computed when somebody asks for it. */
export type TransportFacts = Readonly<Pick<Params, (typeof NAMES)[number]>>

/**
 * The key under which params carry the facts of their call. It is never enumerable: a spread of the
 * params of one call would give its facts to another one.
 */
export const TRANSPORT_FACTS: unique symbol = Symbol('remex.transportFacts')

/** Params that carry the facts of their call. */
export interface TransportParams extends Params {
  readonly [TRANSPORT_FACTS]?: TransportFacts | undefined
}

/** The facts as properties of the params that carry them; not enumerable, so that a copy computes none. */
export const FACT_GETTERS: Readonly<PropertyDescriptorMap> = Object.fromEntries(
  NAMES.map((name) => [
    name,
    {
      configurable: true,
      get(this: TransportParams): unknown {
        return this[TRANSPORT_FACTS]?.[name]
      },
    },
  ]),
)

/** Returns fields for params without those that only the transport may state. */
export function withoutFacts<F extends object>(fields: F): Omit<F, keyof TransportFacts> {
  const others: Partial<Record<string, unknown>> = { ...fields }
  for (const name of NAMES) delete others[name]
  return others as F
}

/**
 * Gives params that a hook has put in place of others the facts of these, as properties too: login
 * limits and the log need them. An object with other headers is no copy: many calls may share it.
 */
export function carryFacts(from: TransportParams, to: TransportParams): void {
  const facts = from[TRANSPORT_FACTS]
  if (facts === undefined || from.headers !== to.headers || !Object.isExtensible(to)) return
  Object.defineProperty(to, TRANSPORT_FACTS, { configurable: true, value: facts })
  for (const name of NAMES) {
    if (!(name in to)) Object.defineProperty(to, name, FACT_GETTERS[name] ?? {})
  }
}

import { metadataOf } from '../../core/function-metadata.ts'
import type { Chain } from '../../core/hooks/hook-chain.ts'
import { compileChain } from '../../core/hooks/hook-chain.ts'
import type { MethodEntry, Params } from '../../core/index.ts'
import { HookContext, NotAcceptable } from '../../core/index.ts'
import { copyPlain } from '../../core/schema/plain-objects.ts'
import { finishCall, startCall, startUnobserved } from '../../core/services/run-method.ts'
import type { TransportParams } from '../../core/transport-facts.ts'
import { carryFacts } from '../../core/transport-facts.ts'
import { toBody } from '../service-reply.ts'

/** What stands in the place of the method, in a call of the hooks of `find`. */
type Run = (context: HookContext) => unknown

/** Where a context keeps what stands in the place of its method. */
const RUN: unique symbol = Symbol('remex.run')

/**
 * Calls of `find` for a stream: its hooks run as for any call, around something else than the method.
 * They decide what a caller may read, and make what he is sent.
 */
export class FollowedFind {
  readonly method: MethodEntry
  /** The chain of the method and what was made of it: hooks may be added at any time. */
  #compiled: { readonly of: Chain | null; readonly method: MethodEntry; readonly shapes: boolean }

  constructor(method: MethodEntry) {
    this.method = method
    this.#compiled = this.#compile()
  }

  /** Whether a hook may change what is sent: around and after hooks may, but for those that log in. */
  get shapes(): boolean {
    return this.#current.shapes
  }

  /**
   * Runs the hooks. Resolves to what a caller outside gets.
   * @param start starts the call. Default: it is told to those who observe calls
   * @throws {NotAcceptable} a hook has set the result itself: nobody knows what this caller may read
   */
  async call(
    context: HookContext,
    run: Run,
    start: typeof startCall = startCall,
  ): Promise<unknown> {
    const { method } = this.#current
    let hasRun = false
    const value = async (running: HookContext): Promise<unknown> => {
      const returned = await run(running)
      hasRun = true
      return returned
    }
    Object.defineProperty(context, RUN, { value, configurable: true })
    const pending = start(method, context)
    finishCall(method, context, pending === undefined ? context.result : await pending)
    if (!hasRun) throw new NotAcceptable('A hook of find sets the result: there is no stream')
    const { dispatch, result } = context
    return toBody(dispatch === undefined ? result : dispatch)
  }

  /**
   * Resolves to one record as `find` shows it, `undefined` where a hook leaves it out.
   * @param params those that the hooks have made for this caller: who it is has been proven
   * @param find resolves to what the method would, for the params that the hooks make this time
   * @throws {TypeError} the hooks make something else than a page or a list of it
   */
  async show(params: Params, find: (params: Params) => unknown): Promise<unknown> {
    const context = this.createContext(params)
    // Not a call of anybody: it is repeated for each stream that hears of an event.
    const call = this.call(context, (running) => find(running.params), startUnobserved)
    const records = listRecords(await call)
    if (records !== null && records.length < 2) return records[0]
    throw new TypeError(
      'The hooks of find must leave a page or a list with the records given to them',
    )
  }

  /** Returns the context of a new call. */
  createContext(params: Params): HookContext {
    const { service } = this.method.entry
    return new HookContext(this.method, service, undefined, undefined, params)
  }

  get #current() {
    if (this.#compiled.of !== this.method.chain) this.#compiled = this.#compile()
    return this.#compiled
  }

  #compile() {
    const { entry, chain } = this.method
    const { app, hooks, schemas } = entry
    const call = (context: unknown): unknown => (context as Running)[RUN](context as HookContext)
    const sources = [{ hooks: app.hookRegistry }, { hooks, schemas }]
    const method = { ...this.method, call, chain: compileChain(sources, 'find', call) }
    const shaping = sources.flatMap(({ hooks: registry }) => [
      ...registry.getAround('find').filter((hook) => !isNeutral(hook)),
      ...registry.get('after', 'all'),
      ...registry.get('after', 'find'),
    ])
    return { of: chain, method, shapes: shaping.length > 0 }
  }
}

/** Whether a hook changes nothing of a result: it logs callers in, or observes. */
function isNeutral(hook: object): boolean {
  const { strategies, changesNothing } = metadataOf(hook)
  return strategies !== undefined || changesNothing === true
}

interface Running extends HookContext {
  readonly [RUN]: Run
}

/** Returns the records of a page or a list, `null` of anything else. */
export function listRecords(body: unknown): readonly unknown[] | null {
  if (Array.isArray(body)) return body
  const { data } = (body ?? {}) as { data?: unknown }
  return Array.isArray(data) ? data : null
}

/**
 * Returns params for one more call: hooks change those that they get.
 * @param query the query as the caller has sent it
 */
export function copyParams(params: Params, query: Params['query']): Params {
  const copy: Params = { ...params, query: copyPlain(query) as Params['query'] }
  carryFacts(params as TransportParams, copy)
  return copy
}

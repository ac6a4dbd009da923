import { feathers } from '@feathersjs/feathers'
import * as official from '@feathersjs/schema'
import type { AnyApplication, HookContext } from '../../../../../src/core/index.ts'
import { createApp } from '../../../../../src/core/index.ts'
import * as remex from '../../../../../src/core/schema/index.ts'

/** The part of both packages that is compared. */
export type Resolving = Pick<
  typeof remex,
  | ('resolve' | 'virtual' | 'resolveData' | 'resolveQuery')
  | ('resolveResult' | 'resolveExternal' | 'getDispatch' | 'getDispatchValue' | 'setDispatch')
>

export type Fields = Readonly<Record<string, unknown>>
export type ResolveFields = typeof remex.resolve<Fields, HookContext>

/** A package with its resolvers, and the application that it is used in. */
export interface Room {
  readonly name: string
  /** Whose resolvers and hooks these are. */
  readonly owner: 'Remex' | 'Feathers'
  readonly schema: Resolving
  readonly createApp: () => AnyApplication
}

const OFFICIAL = official as unknown as Resolving
const createFeathers = (): AnyApplication => feathers() as unknown as AnyApplication
const createRemex = (): AnyApplication => {
  const app = createApp()
  app.logger = { error: () => undefined, warn: () => undefined, info: () => undefined }
  return app as unknown as AnyApplication
}

export const ROOMS: readonly Room[] = [
  { name: 'Remex', owner: 'Remex', schema: remex, createApp: createRemex },
  { name: 'remex/schema in Feathers', owner: 'Remex', schema: remex, createApp: createFeathers },
  { name: 'Feathers', owner: 'Feathers', schema: OFFICIAL, createApp: createFeathers },
  {
    name: '@feathersjs/schema in Remex',
    owner: 'Feathers',
    schema: OFFICIAL,
    createApp: createRemex,
  },
]

/** One call of a service, with hooks around it. */
export interface Call {
  /** Default: `get`. */
  readonly method?: 'find' | 'get' | 'create' | 'patch' | 'remove'
  readonly data?: unknown
  readonly query?: Fields
  /** Default: a call within the process. */
  readonly provider?: string
  /** Makes what the method returns. Default: the data it got. */
  readonly returns?: () => unknown
  /** Default: a service that does not say what its id is called. */
  readonly id?: string
  readonly around?: readonly unknown[]
  readonly before?: readonly unknown[]
  readonly after?: readonly unknown[]
  readonly params?: Fields
}

/** What comes of a call; what is `undefined` is left out. */
export interface Outcome {
  readonly result?: unknown
  readonly dispatch?: unknown
  /** The query that reached the method. */
  readonly query?: unknown
  readonly error?: unknown
}

type Arguments = readonly [unknown, ...unknown[]]

const ARGUMENTS: Readonly<
  Record<NonNullable<Call['method']>, (data: unknown, params: unknown) => Arguments>
> = {
  find: (_data, params) => [params],
  get: (_data, params) => [1, params],
  create: (data, params) => [data, params],
  patch: (data, params) => [1, data, params],
  remove: (_data, params) => [1, params],
}

/** Makes the call in an application of its own. */
export async function makeCall(room: Room, call: Call): Promise<Outcome> {
  const { method = 'get', query, provider, params } = call
  const app = room.createApp()
  let reached: unknown
  const answer = async (...args: unknown[]): Promise<unknown> => {
    const { query: seen } = args.at(-1) as { query?: unknown }
    reached = seen
    return call.returns === undefined ? args.at(-2) : call.returns()
  }
  const methods = Object.keys(ARGUMENTS).map((name) => [name, answer] as const)
  // The number of arguments tells Feathers nothing: it has a table of its own, as we have.
  app.use('records', { ...Object.fromEntries(methods), ...(call.id && { id: call.id }) })
  const service = app.service('records') as unknown as Record<string, CallableFunction>
  let context: HookContext | undefined
  const watch = async (given: HookContext, next: () => Promise<void>): Promise<void> => {
    context = given
    await next()
  }
  service['hooks']?.({
    around: { all: [watch, ...(call.around ?? [])] },
    before: { all: [...(call.before ?? [])] },
    after: { all: [...(call.after ?? [])] },
  })
  const args = ARGUMENTS[method](call.data, { ...params, ...(query && { query }), provider })
  try {
    const result: unknown = await service[method]?.(...args)
    return toOutcome({ result, dispatch: context?.dispatch, query: reached })
  } catch (thrown) {
    const { name, message, code, data } = thrown as Record<string, unknown>
    return { error: toOutcome({ name, message, code, data } as Outcome) }
  }
}

function toOutcome(outcome: object): Outcome {
  return Object.fromEntries(Object.entries(outcome).filter(([, value]) => value !== undefined))
}

import type { Application, AroundHook, HookContext, Query, ServiceEntry } from '../core/index.ts'
import { BadRequest, NotAcceptable, NotAuthenticated } from '../core/index.ts'
import { isObject } from '../core/value-kind.ts'
import type { Authentication } from './authentication.ts'
import { proveParams } from './hooks/authenticate.ts'
import { getTokenClaims } from './proof.ts'

/** What of the entry of a service its guard needs. */
export type GuardedEntry = Pick<ServiceEntry, 'methods' | 'hooks' | 'attachments' | 'compile'>

/** Calls a function with the service at a path, and with each that takes its place later. */
export function followService(
  app: Application,
  path: string,
  follow: (entry: GuardedEntry) => void,
): void {
  const known = app.entries.get(path)
  if (known !== undefined) follow(known)
  app.observe((change, changed, entry) => {
    if (change === 'added' && changed === path) follow(entry)
  })
}

/** Adds an around hook to some methods of a service, as far as it has them. */
export function addAround(entry: GuardedEntry, names: readonly string[], hook: AroundHook): void {
  const known = names.filter((name) => name === 'all' || entry.methods.has(name))
  entry.hooks.add({ around: Object.fromEntries(known.map((name) => [name, hook])) })
  entry.compile()
}

/** Where the entry of a service says whose records it keeps. */
const KEEPER = Symbol('remex.keeper')

/** Whose records a service keeps, and how errors name them. */
interface Keeper {
  readonly owner: object
  readonly records: 'sessions' | 'API keys'
}

/**
 * Adds the guard of its owner to all methods of a service, once.
 * @throws {TypeError} it has the guard of another owner
 */
export function guardService(
  entry: GuardedEntry,
  path: string,
  { owner, records }: Keeper,
  guard: AroundHook,
): void {
  const keeper = entry.attachments.get(KEEPER) as Keeper | undefined
  if (keeper?.owner === owner) return
  if (keeper !== undefined) {
    throw new TypeError(
      `The service '${path}' keeps the ${keeper.records} of another authentication service or strategy`,
    )
  }
  entry.attachments.set(KEEPER, { owner, records })
  addAround(entry, ['all'], guard)
}

/** What the query of callers outside may have. */
const PAGING: ReadonlySet<string> = new Set(['$limit', '$skip', '$sort'])

/** The claims of a token that names its user. */
export interface OwnerClaims {
  readonly sub: string
  readonly [claim: string]: unknown
}

/**
 * Resolves to the claims of a caller outside, who has to send an access token.
 * @param records names them in errors: `Sessions`
 * @throws {NotAcceptable} the caller asks for a stream
 * @throws {NotAuthenticated} there is no token, or it names no user
 */
export async function proveOwner(
  authentication: Authentication,
  context: HookContext,
  records: string,
): Promise<OwnerClaims> {
  // A stream would tell of each use at once: whoever has stolen a token would know when.
  if (/text\/event-stream/i.test(String(context.params.headers?.['accept']))) {
    throw new NotAcceptable(`${records} have no stream`)
  }
  await proveParams(authentication, context, authentication.configuration.authStrategies)
  const { sub, ...claims } = getTokenClaims(context.params.authentication)
  // Any proof but an access token names no user by a claim.
  if (typeof sub === 'string') return { ...claims, sub }
  throw new NotAuthenticated(`${records} are shown for an access token alone`)
}

/**
 * Has a call find the records of a user alone.
 * @param records names them in errors: `Sessions`
 * @throws {BadRequest} all are to be removed at once, or the query has conditions
 */
export function restrictToOwn(context: HookContext, userId: string, records: string): void {
  const query: Query = context.params.query ?? {}
  const other = Object.keys(query).find((name) => !PAGING.has(name))
  if (other !== undefined) throw new BadRequest(`${records} can not be queried by '${other}'`)
  if (context.method === 'remove' && context.id == null) {
    throw new BadRequest(`${records} are removed one by one, by their ids`)
  }
  context.params.query = { ...query, userId }
}

/** Replaces each record of a result by what callers may see, also where hooks have chosen what is sent. */
export function showOnly(context: HookContext, toShown: (record: never) => object): void {
  const { result } = context
  const show = toShown as (record: unknown) => object
  if (Array.isArray(result)) context.result = result.map(show)
  else if (isObject(result) && Array.isArray(result['data'])) {
    context.result = { ...result, data: result['data'].map(show) }
  } else context.result = show(result)
  context.dispatch = context.result
}

import type { AnyApplication } from '../../core/app.ts'
import { OrderError } from '../../core/errors/setup-errors.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { Given, OptionRule } from '../../core/options/option-rules.ts'
import { checkRules, withDefaults } from '../../core/options/option-rules.ts'
import type { ServiceEntryFace } from '../../core/services/method-entry.ts'
import { findServiceEntry } from '../../core/services/service-entry.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { LoginResult } from '../authentication/login-result.ts'
import { RemoteService } from '../remote-service.ts'
import { HeardEvents } from './heard-events.ts'
import type { ResolvedLiveOptions } from './live-connections.ts'
import { findLiveService, LiveConnections } from './live-connections.ts'
import type { LiveEvent, SubscriptionParams } from './live-event.ts'
import { LiveList } from './live-list.ts'
import { Subscription } from './subscription.ts'

/** Options of {@link realtime}. */
export interface LiveOptions extends Given<ResolvedLiveOptions> {}

const POSITIVE: OptionRule = {
  expected: 'a number above 0',
  isValid: (value) => typeof value === 'number' && value > 0,
}

const RULES: Readonly<Record<keyof ResolvedLiveOptions, OptionRule>> = {
  silenceMs: POSITIVE,
  reconnectMs: POSITIVE,
  maxReconnectMs: POSITIVE,
  hiddenMs: POSITIVE,
  recountMs: POSITIVE,
  maxWaiting: POSITIVE,
  path: { expected: "a path: '/live-queries'", isValid: isNonEmptyString },
}

const DEFAULTS: ResolvedLiveOptions = {
  path: '/live-queries',
  silenceMs: 45_000,
  maxReconnectMs: 30_000,
  hiddenMs: 60_000,
  recountMs: 5_000,
  maxWaiting: 1_000,
}

type LiveMethod = (service: object, params?: SubscriptionParams) => unknown

/** The methods that are added to services. */
const METHODS: Readonly<Record<string, LiveMethod>> = { subscribe, live }

/** Set on an application that has live queries. */
const REALTIME = Symbol('remex.realtime')

/**
 * Returns a function for `client.configure(realtime())` that adds live queries to a client. Its remote services get the
 * methods `subscribe` and `live`, unless they already have methods of these names, and listeners of their events
 * receive other clients' writes.
 * @throws {TypeError} an option is unknown or invalid, or the client already has live queries
 */
export function realtime(options: LiveOptions = {}): (client: object) => void {
  const configure = createConfigurator<AnyApplication>('realtime', options, (app) => {
    if (REALTIME in app) throw new OrderError('The client has live queries already')
    Object.defineProperty(app, REALTIME, { value: true })
    const connections = new LiveConnections(resolved)
    const all = new Map<ServiceEntryFace, HeardEvents>()
    const add = (entry: ServiceEntryFace): void => {
      const { service } = entry
      if (!(service instanceof RemoteService) || entry.app !== app) return
      all.set(entry, new HeardEvents(entry, connections.add(entry, service)))
      for (const [name, method] of Object.entries(METHODS)) {
        if (name in service) continue
        const value = (params?: SubscriptionParams): unknown => method(service, params)
        Object.defineProperty(service, name, { value, configurable: true, writable: true })
      }
    }
    for (const entry of app.entries.values()) add(entry)
    app.observe((change, _path, entry) => {
      if (change === 'added') return add(entry)
      if (all.delete(entry)) connections.close(entry.service)
    })
    let user: unknown
    const change = (login?: LoginResult): void => {
      const before = user
      user = login?.authentication?.payload?.sub
      // A renewed token of the same user is sent with the next connection.
      if (user === undefined || user !== before) connections.restart()
      for (const heard of all.values()) heard.retry()
    }
    app.on('login', change)
    app.on('logout', () => change())
  })
  checkRules('realtime()', options, RULES)
  const resolved = withDefaults(DEFAULTS, options)
  return configure as (client: object) => void
}

/** A service with a method `find`. */
interface Finder<Values extends readonly unknown[], Result> {
  /** Resolves to a page or a list. */
  find(...values: Values): Promise<Result>
}

type WithSignal<P> = P & Pick<SubscriptionParams, 'signal'>

/** The params of a subscription: those of the method `find` of a service. */
export type LiveParams<S> =
  S extends Finder<infer Values, unknown>
    ? Values extends [infer P]
      ? [params: WithSignal<P>]
      : Values extends [(infer P)?]
        ? [params?: WithSignal<P>]
        : [params?: SubscriptionParams]
    : [params?: SubscriptionParams]

/** The result of the method `find` of a service. */
export type FoundBy<S> = S extends Finder<never, infer Result> ? Result : unknown

/**
 * Returns the events of a query: a `snapshot`, which is the result of `find`, then every later write. It connects with
 * the first `next()`, and ends with the loop or when the signal aborts. The loop throws the error with which the server
 * rejects the query, for example `NotAuthenticated`.
 * @throws {TypeError} the client has no live queries
 */
export function subscribe<S extends object, Own extends string = never>(
  service: S,
  ...params: LiveParams<S>
): AsyncIterableIterator<LiveEvent<FoundBy<S>, Own>, undefined> {
  const [given = {}] = params as [params?: SubscriptionParams]
  const subscription: AsyncIterableIterator<unknown, undefined> = new Subscription(
    findLiveService(service),
    given,
  )
  // Events have the types that the server states.
  return subscription as AsyncIterableIterator<LiveEvent<FoundBy<S>, Own>, undefined>
}

/**
 * Resolves to the records of a query, which are kept up to date until `close()` is called or the signal aborts. It
 * waits while the server cannot be reached.
 * @throws {NotAuthenticated} or another error with which the server rejects the query
 * @throws {TypeError} the client has no live queries, or `find` returns neither a list nor a page
 */
export async function live<S extends object>(
  service: S,
  ...params: LiveParams<S>
): Promise<LiveList<FoundBy<S>>> {
  const [given = {}] = params as [params?: SubscriptionParams]
  const list = new LiveList<FoundBy<S>>(findLiveService(service), given, (error) => {
    const entry = findServiceEntry(service)
    if (entry !== undefined) logListenerError(entry.app, error, 'change')
  })
  return list.start()
}

declare module '../client.ts' {
  interface RemoteServiceMembers<S> {
    /** Returns the events of a query: {@link subscribe}. */
    subscribe<Own extends string = never>(
      ...params: LiveParams<S>
    ): AsyncIterableIterator<LiveEvent<FoundBy<S>, Own>, undefined>
    /** Resolves to the records of a query, kept up to date: {@link live}. */
    live(...params: LiveParams<S>): Promise<LiveList<FoundBy<S>>>
  }
}

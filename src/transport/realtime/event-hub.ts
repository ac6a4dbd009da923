import type { AuthenticationResult } from '../../auth/authentication.ts'
import type { LoginEnd } from '../../auth/login-end.ts'
import { isEndedBy, onLoginEnd } from '../../auth/login-end.ts'
import { getTokenClaims } from '../../auth/proof.ts'
import { findCaller } from '../../auth/throttle/caller.ts'
import { ServerStreamLimit, ServiceNotFound, StreamLimit } from '../../core/errors/coded-errors.ts'
import { ArgumentError, OptionError, RegistrationError } from '../../core/errors/setup-errors.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { BusEvent, BusReceiver } from '../../core/events/event-bus.ts'
import type { Application, HookContext, MethodEntry, Params } from '../../core/index.ts'
import { findServiceEntry } from '../../core/index.ts'
import { TimeLimit } from '../call-time-limit.ts'
import type { RequestStreams } from '../finds/request-streams.ts'
import type { StreamedCall } from '../rest-plan.ts'
import { followBus } from '../shared-bus.ts'
import type { RecordEvent } from './event-log.ts'
import { EVERYTHING } from './event-log.ts'
import { FindLimits } from './find-queue.ts'
import { addPublishMethod, findPublisher, removePublishMethod } from './publish.ts'
import type { StreamHub } from './query-stream.ts'
import { QueryStream } from './query-stream.ts'
import type { ResolvedRealtimeOptions } from './realtime-options.ts'
import { RoutedResponse } from './routed-response.ts'
import { EndedStreams } from './sent-records.ts'
import { Topic } from './topic.ts'
import { Turns } from './turns.ts'

/** How long hooks and reads of streams may take if calls have no time limit, in milliseconds. */
const TIME_LIMIT_MS = 30_000

/** Longest time between two visits of all streams, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** Events that streams send themselves, so services may not use their names. */
const OWN_FRAMES: ReadonlySet<string> = new Set([
  ...['open', 'snapshot', 'left', 'resync', 'end', 'changed', 'recheck'],
])

/** All streams of an application, and the events that they receive. */
export class EventHub implements RequestStreams, StreamHub, BusReceiver {
  readonly options: ResolvedRealtimeOptions
  readonly ended: EndedStreams
  readonly #app: Application
  /** The path of each entry in this application; `entry.path` is the path within a mounted one. */
  #paths: ReadonlyMap<object, string> = new Map()
  readonly #topics = new Map<MethodEntry, Topic>()
  readonly #streams = new Set<QueryStream>()
  /** The admitted streams of each caller. */
  readonly #callers = new Map<string, Set<QueryStream>>()
  /** The number of admitted streams of all callers. */
  #admitted = 0
  /** The calls whose events the bus has written in their transaction. */
  readonly #stored = new WeakSet<HookContext>()
  /** For transports without a time limit: a hook that hangs would silence a stream forever. */
  readonly #timeLimit = new TimeLimit(TIME_LIMIT_MS)
  readonly #finds = new FindLimits(this.#timeLimit)
  /** The timer of all streams. It sends heartbeats, ends expired streams, and starts rechecks. */
  #timer: NodeJS.Timeout | null = null
  readonly #turns = new Turns()

  constructor(app: Application, options: ResolvedRealtimeOptions) {
    this.#app = app
    this.options = options
    this.ended = new EndedStreams(options.maxStreams)
    for (const [path, entry] of app.entries) this.#addService(path, entry)
    this.#listPaths()
    app.observe((change, path, entry) => {
      this.#listPaths()
      if (change === 'added') this.#addService(path, entry)
      else this.#removeService(entry)
    })
    app.on('logout', (result: AuthenticationResult) => this.#recheckToken(result))
    onLoginEnd(app, (end) => this.#endLogins(end))
    if (options.bus !== null) followBus(app, options.bus, this)
  }

  /** The number of open streams. */
  get size(): number {
    return this.#streams.size
  }

  countByPath(): Readonly<Record<string, number>> {
    const counts = new Map<string, number>()
    for (const { topic } of this.#streams) {
      const path = this.#pathOf(topic)
      counts.set(path, (counts.get(path) ?? 0) + 1)
    }
    return Object.fromEntries(counts)
  }

  async open(call: StreamedCall): Promise<void> {
    const { entry } = call.method
    if (!this.#paths.has(entry)) throw new ServiceNotFound('The service is gone')
    this.#finds.timeLimit = call.transport.timeLimit ?? this.#timeLimit
    const topic = this.#topicOf(call.method)
    const stream = new QueryStream(this, topic, call.context.params)
    this.#streams.add(stream)
    const onClose = (): void => this.#release(stream)
    try {
      await stream.open(call, onClose)
      // The service may have been removed in the meantime.
      if (this.#topics.get(call.method) !== topic) stream.end('closing')
      const { reply, transport } = call
      if (!(reply.raw instanceof RoutedResponse)) {
        transport.followEndless(reply, () => stream.end('closing'))
      } else if (transport.isClosing) stream.end('closing')
    } catch (error) {
      onClose()
      throw error
    }
  }

  admit(stream: QueryStream, params: Params): void {
    if (stream.caller !== null) return
    const { maxStreams, maxStreamsPerCaller } = this.options
    const caller = findCaller(params)
    this.#replace(stream, this.#callers.get(caller))
    const own = this.#callers.get(caller) ?? new Set()
    if (own.size >= maxStreamsPerCaller) {
      throw new StreamLimit(`A caller may have ${maxStreamsPerCaller} streams`)
    }
    if (this.#admitted >= maxStreams) throw new ServerStreamLimit('There are too many streams')
    stream.caller = caller
    this.#admitted++
    this.#callers.set(caller, own.add(stream))
  }

  /**
   * Ends the stream that another one continues: its client may open the next one before this process notices the
   * disconnect.
   */
  #replace({ follows, topic }: QueryStream, own: Iterable<QueryStream> = []): void {
    if (follows === '') return
    for (const one of own) {
      if (one.frames.token === follows && one.topic === topic && one.leave()) this.#release(one)
    }
  }

  allows(topic: Topic, record: object, event: string, params: Params): boolean {
    const { entry } = topic.find.method
    const publisher = findPublisher(entry.service)
    if (publisher === undefined) return true
    const { app, path } = entry
    try {
      const isHeard = publisher(record as Record<string, unknown>, { app, path, event }, { params })
      if (typeof isHeard === 'boolean') return isHeard
      throw new ArgumentError(
        `publish() of '${path}': the function must return true or false at once`,
      )
    } catch (error) {
      logListenerError(this.#app, error, `${path} ${event}`)
      return false
    }
  }

  receive({ path, ...event }: BusEvent, position: string, storedAt?: number): void {
    const find = this.#app.entries.get(path)?.methods.get('find')
    if (find !== undefined) this.#topicOf(find).append(event, position, storedAt)
  }

  confirm(path: string, position: string, storedAt: number): void {
    const find = this.#app.entries.get(path)?.methods.get('find')
    if (find !== undefined) this.#topics.get(find)?.log.confirm(position, storedAt)
  }

  lose(): void {
    for (const topic of this.#topics.values()) this.#append(topic, EVERYTHING)
  }

  async describe(context: HookContext): Promise<readonly BusEvent[]> {
    const { event, service } = context
    const entry = findServiceEntry(service)
    const find = entry?.methods.get('find')
    const topic = find === undefined ? undefined : this.#topics.get(find)
    if (event === null || topic === undefined || entry?.options.events.includes(event)) return []
    this.#stored.add(context)
    const path = this.#pathOf(topic)
    const items = [context.result].flat()
    const events = items.flatMap((item) => topic.toEvent(event, item, context) ?? [])
    return Promise.all(events.map(async (one) => ({ path, ...one, place: await one.place })))
  }

  #startTimer(): void {
    const { heartbeatMs, recheckMs } = this.options
    const stepMs = Math.min(LONGEST_STEP_MS, heartbeatMs, recheckMs)
    this.#timer ??= setInterval(() => this.#visit(), stepMs).unref()
  }

  /** Also drops what is too old, and the timer if nothing is left that needs it. */
  #visit(): void {
    const now = Date.now()
    for (const stream of this.#streams) stream.visit(now)
    this.ended.forget(now - this.options.bufferMs)
    for (const topic of this.#topics.values()) {
      if (topic.followers.size > 0) topic.wake()
      else if (topic.leftAt + this.options.bufferMs <= now && !this.#isNeeded(topic)) {
        this.#close(topic)
      }
    }
    if (this.#streams.size > 0 || this.#topics.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
    this.#timeLimit.close()
  }

  #topicOf(method: MethodEntry): Topic {
    this.#startTimer()
    const known = this.#topics.get(method)
    if (known !== undefined) return known
    const { bus } = this.options
    const options = { ...this.options, overlapMs: bus?.overlapMs ?? 0, turns: this.#turns }
    const topic = new Topic(method, options, this.#finds, (...event) => this.#publish(...event))
    this.#topics.set(method, topic)
    return topic
  }

  /** Sends an event to streams: those of this process, or with a bus those of all processes. */
  #publish(topic: Topic, event: RecordEvent, context: HookContext | undefined): void {
    const { bus } = this.options
    if (bus === null) {
      this.#append(topic, event)
      return
    }
    if (context !== undefined && this.#stored.has(context)) return
    const path = this.#pathOf(topic)
    const { place } = event
    if (typeof place === 'string') bus.publish({ path, ...event, place })
    else void place.then((known) => bus.publish({ path, ...event, place: known }))
  }

  #listPaths(): void {
    // Of several paths the first counts.
    const entries = [...this.#app.entries].toReversed()
    this.#paths = new Map(entries.map(([path, entry]) => [entry, path]))
  }

  #pathOf({ find }: Topic): string {
    const { entry } = find.method
    return this.#paths.get(entry) ?? entry.path
  }

  #append(topic: Topic, event: RecordEvent): void {
    topic.append(event, topic.nextPosition)
  }

  /** Returns whether other processes may receive its events, or a stream of it is open or being opened. */
  #isNeeded(topic: Topic): boolean {
    if (this.options.bus !== null) return true
    return [...this.#streams].some((stream) => stream.topic === topic)
  }

  #close(topic: Topic): void {
    topic.close()
    this.#topics.delete(topic.find.method)
  }

  #release(stream: QueryStream): void {
    if (!this.#streams.delete(stream)) return
    stream.topic.remove(stream)
    const { caller, frames } = stream
    if (caller === null) return
    this.#admitted--
    const own = this.#callers.get(caller)
    own?.delete(stream)
    if (own?.size === 0) this.#callers.delete(caller)
    const ended = stream.toEnded()
    if (ended !== null) this.ended.add(frames.token, caller, ended)
  }

  /** With a bus the events of each service are published: other processes may have streams of it. */
  #addService(path: string, entry: MethodEntry['entry']): void {
    checkEventNames(entry)
    if (`/${path}` === this.options.path) {
      throw new OptionError(
        `realtime(): '${path}' is the path for lists of subscriptions: set another one by 'path'`,
      )
    }
    addPublishMethod(entry.service)
    const find = entry.methods.get('find')
    if (this.options.bus !== null && find !== undefined) this.#topicOf(find)
  }

  /** Ends the streams of a removed service. */
  #removeService(entry: MethodEntry['entry']): void {
    removePublishMethod(entry.service)
    for (const stream of this.#streams) {
      if (stream.topic.find.method.entry === entry) stream.end('closing')
    }
    for (const topic of this.#topics.values()) {
      if (topic.find.method.entry === entry) this.#close(topic)
    }
  }

  #endLogins(end: LoginEnd): void {
    for (const stream of this.#streams) {
      if (isEndedBy(end, getTokenClaims(stream.call.params.authentication))) stream.end('expired')
    }
  }

  /** Makes the hooks of `find` check again after a logout. A revoked token has already ended its streams. */
  #recheckToken({ authentication }: AuthenticationResult): void {
    const { jti } = getTokenClaims(authentication)
    if (jti === undefined) return
    for (const stream of this.#streams) {
      if (getTokenClaims(stream.call.params.authentication).jti === jti) stream.askRecheck()
    }
  }
}

/**
 * Checks the names of the events of a service.
 * @throws {TypeError} streams send frames with this name themselves
 */
function checkEventNames({ path, options }: MethodEntry['entry']): void {
  const name = options.serviceEvents.find((event) => OWN_FRAMES.has(event))
  if (name === undefined) return
  throw new RegistrationError(
    `realtime(): '${path}' has an event '${name}', which streams send themselves`,
  )
}

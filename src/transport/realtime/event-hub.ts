import type { Application, MethodEntry, Params } from '../../core/index.ts'
import { TooManyRequests, Unavailable } from '../../core/index.ts'
import type { RequestStreams, StreamedCall } from '../request-streams.ts'
import { publisherOf } from './publish.ts'
import type { ResolvedRealtimeOptions } from './realtime-options.ts'
import type { StreamHub } from './subscription.ts'
import { Subscription } from './subscription.ts'
import { Topic } from './topic.ts'

/** Longest time between two looks at the streams, in milliseconds. */
const LONGEST_STEP_MS = 1_000

/** Events that streams send themselves. */
const OWN_FRAMES: ReadonlySet<string> = new Set(['snapshot', 'left', 'resync', 'end', 'changed'])

/** What a stream that has ended was sent, for the client that comes back to it. */
interface Parting {
  readonly sent: Set<string>
  readonly leftAt: number
}

/** All streams of an application, and the events that they are told of. */
export class EventHub implements RequestStreams, StreamHub {
  readonly options: ResolvedRealtimeOptions
  readonly #app: Application
  readonly #epoch = crypto.randomUUID().slice(0, 8)
  readonly #topics = new Map<MethodEntry, Topic>()
  readonly #streams = new Set<Subscription>()
  /** How many streams each caller has. */
  readonly #callers = new Map<string, number>()
  readonly #callerOf = new Map<Subscription, string>()
  /** By the token of the stream, the oldest first. */
  readonly #partings = new Map<string, Parting>()
  #timer: NodeJS.Timeout | null = null

  constructor(app: Application, options: ResolvedRealtimeOptions) {
    this.#app = app
    this.options = options
    for (const entry of app.entries.values()) checkEventNames(entry)
    app.observe((change, _path, entry) => {
      if (change === 'added') checkEventNames(entry)
      else this.#forget(entry)
    })
    app.on('logout', (result: LoginResult) => this.#recheckLogin(result))
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size
  }

  async open(call: StreamedCall): Promise<void> {
    const topic = this.#topicOf(call.method)
    const subscription = new Subscription(this, topic, call)
    this.#streams.add(subscription)
    const onClose = (): void => this.#release(subscription)
    try {
      await subscription.open(onClose)
      call.transport.followEndless(call.reply, () => subscription.end('closing'))
    } catch (error) {
      onClose()
      throw error
    }
  }

  admit(subscription: Subscription, params: Params): void {
    if (this.#callerOf.has(subscription)) return
    const { maxStreams, maxStreamsPerCaller } = this.options
    const caller = toCaller(params)
    const count = this.#callers.get(caller) ?? 0
    if (count >= maxStreamsPerCaller) {
      throw new TooManyRequests(`A caller may have ${maxStreamsPerCaller} streams`)
    }
    if (this.#callerOf.size >= maxStreams) throw new Unavailable('There are too many streams')
    this.#callerOf.set(subscription, caller)
    this.#callers.set(caller, count + 1)
  }

  allows(topic: Topic, record: object, event: string, params: Params): boolean {
    const { entry } = topic.find.method
    const publisher = publisherOf(entry.service)
    if (publisher === undefined) return true
    const { app, path } = entry
    try {
      const isHeard = publisher(record as Record<string, unknown>, { app, path, event }, { params })
      if (typeof isHeard === 'boolean') return isHeard
      throw new TypeError(`publish() of '${path}': the function must return true or false at once`)
    } catch (error) {
      this.#app.logListenerError(error, `${path} ${event}`)
      return false
    }
  }

  takeSent(token: string): Set<string> | undefined {
    const sent = this.#partings.get(token)?.sent
    this.#partings.delete(token)
    return sent
  }

  /** Looks at all streams: which need a beat, end, or are to be rechecked. */
  #look(): void {
    const now = Date.now()
    for (const stream of this.#streams) {
      if (stream.expiresAt <= now) stream.end('expired')
      else if (stream.recheckAt !== 0 && stream.recheckAt <= now) void stream.recheck()
      else if (stream.writtenAt + this.options.heartbeatMs <= now) stream.beat()
    }
    for (const [token, { leftAt }] of this.#partings) {
      if (leftAt + this.options.bufferMs > now) break
      this.#partings.delete(token)
    }
    for (const topic of this.#topics.values()) {
      if (topic.followers.size > 0) topic.wake()
      else if (topic.leftAt + this.options.bufferMs <= now) this.#close(topic)
    }
    if (this.#streams.size > 0 || this.#topics.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #topicOf(method: MethodEntry): Topic {
    const { heartbeatMs, recheckMs } = this.options
    const stepMs = Math.min(LONGEST_STEP_MS, heartbeatMs, recheckMs)
    this.#timer ??= setInterval(() => this.#look(), stepMs).unref()
    const known = this.#topics.get(method)
    if (known !== undefined) return known
    const topic = new Topic(method, this.options, this.#epoch)
    topic.leftAt = Date.now()
    this.#topics.set(method, topic)
    return topic
  }

  #close(topic: Topic): void {
    topic.close()
    this.#topics.delete(topic.find.method)
  }

  #release(subscription: Subscription): void {
    if (!this.#streams.delete(subscription)) return
    subscription.topic.remove(subscription)
    const caller = this.#callerOf.get(subscription)
    if (caller === undefined) return
    this.#callerOf.delete(subscription)
    const count = (this.#callers.get(caller) ?? 1) - 1
    if (count > 0) this.#callers.set(caller, count)
    else this.#callers.delete(caller)
    const { sent, token } = subscription
    if (sent === null) return
    this.#partings.set(token, { sent, leftAt: Date.now() })
    const [oldest] = this.#partings.keys()
    if (this.#partings.size > this.options.maxStreams && oldest !== undefined) {
      this.#partings.delete(oldest)
    }
  }

  /** Ends the streams of a service that is gone. */
  #forget(entry: MethodEntry['entry']): void {
    for (const stream of this.#streams) {
      if (stream.topic.find.method.entry === entry) stream.end('closing')
    }
    for (const topic of this.#topics.values()) {
      if (topic.find.method.entry === entry) this.#close(topic)
    }
  }

  /** A login that has ended ends its streams. */
  #recheckLogin({ authentication }: LoginResult): void {
    const jti = authentication?.payload?.jti
    if (jti === undefined) return
    for (const stream of this.#streams) {
      const { payload } = (stream.params.authentication ?? {}) as LoginResult['authentication'] & {}
      if (payload?.jti === jti) void stream.recheck()
    }
  }
}

/** What a login or a logout tells of its token. */
interface LoginResult {
  readonly authentication?: { readonly payload?: { readonly jti?: unknown } | undefined }
}

/** Returns who a call is from: the subject of its token, else the address. */
function toCaller({ authentication, address }: Params): string {
  const { sub } = (authentication?.['payload'] ?? {}) as { sub?: unknown }
  return sub === undefined ? `address ${address}` : `login ${sub}`
}

/** @throws {TypeError} an event has the name of what a stream sends itself */
function checkEventNames({ path, options }: MethodEntry['entry']): void {
  const name = options.serviceEvents.find((event) => OWN_FRAMES.has(event))
  if (name === undefined) return
  throw new TypeError(`realtime(): '${path}' has an event '${name}', which streams send themselves`)
}

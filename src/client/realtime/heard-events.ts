import { EMITTER_METHODS } from '../../core/events/emitter.ts'
import { HookContext } from '../../core/hooks/hook-context.ts'
import { METHOD_TABLE } from '../../core/method-table.ts'
import type { ServiceEntryFace } from '../../core/services/method-entry.ts'
import { isObject } from '../../core/value-kind.ts'
import type { LiveService } from './live-connections.ts'
import type { ReceivedEvent } from './live-event.ts'
import type { LiveQuery, Subscriber } from './live-query.ts'

type Method = (...values: unknown[]) => unknown

/** The methods with an event, by its name: `patched` → `patch`. */
const WRITES = new Map(
  Object.entries(METHOD_TABLE).flatMap(([name, { event }]) => (event ? [[event, name]] : [])),
)

/** The maximum number of remembered events. */
const MAX_TOLD = 100

/**
 * Lets the listeners of a service receive other clients' writes, over a stream that exists as long as there are
 * listeners. They receive this client's writes over the same stream; emitting those locally too would notify them
 * twice. Only writes made before the stream is open are emitted locally.
 */
export class HeardEvents implements Subscriber {
  readonly #entry: ServiceEntryFace
  readonly #live: LiveService
  /** Returns the names of the events that have listeners. */
  readonly #findNames: () => readonly unknown[]
  #stream: LiveQuery | undefined
  /** Whether the server has rejected the stream. It is requested again after a login. */
  #isRefused = false
  /** Whether the stream is open, or will later report what is written in the meantime. */
  #isTelling = false
  /** The number of running writes that started before the stream was open. */
  #early = 0
  readonly #earlyWrites = new WeakSet<object>()
  /** Events reported by an early write or by the stream, until the other reports them too. */
  readonly #told = new Set<string>()

  constructor(entry: ServiceEntryFace, live: LiveService) {
    this.#entry = entry
    this.#live = live
    const service = entry.service as Record<string, Method>
    this.#findNames = service['eventNames'] as () => readonly unknown[]
    for (const name of EMITTER_METHODS) {
      const method = service[name] as Method
      const value: Method = (...values) => {
        const isTold = name === 'emit' && this.#isTold(...values)
        const returned = isTold || method.apply(service, values)
        this.update()
        return returned
      }
      Object.defineProperty(service, name, { value, configurable: true, writable: true })
    }
    const hook = (context: HookContext, next: () => Promise<void>): Promise<void> =>
      this.#leaveToStream(context, next)
    const around = Object.fromEntries([...WRITES.values()].map((name) => [name, [hook]]))
    entry.hooks.add({ around })
    entry.compile()
  }

  /** Opens the stream if there are listeners, and closes it if there are none. */
  update(): void {
    const { path, service } = this.#entry
    if (this.#findNames.call(service).length === 0) {
      this.#isRefused = false
      this.#leave()
      return
    }
    // Each call knows the value of a placeholder, but listeners do not.
    if (this.#stream !== undefined || this.#isRefused || path.includes(':')) return
    this.#stream = this.#live.join({ query: { $limit: 0 } }, this)
  }

  /** Requests a rejected stream again. */
  retry(): void {
    this.#isRefused = false
    this.update()
  }

  receive({ type, data }: ReceivedEvent): void {
    if (type === 'snapshot') return
    const method = this.#entry.methods.get(WRITES.get(type) ?? '')
    if (method === undefined) {
      this.#entry.emit(type, data)
      return
    }
    if (this.#told.size > 0 || this.#early > 0) {
      const key = toKey(type, data)
      if (this.#told.delete(key)) return
      if (this.#early > 0) this.#told.add(key)
    }
    const id = isObject(data) ? (data['_id'] ?? data['id']) : undefined
    const context = new HookContext(method, this.#entry.service, id, undefined, {})
    this.#entry.emit(type, data, Object.assign(context, { result: data }))
  }

  notice({ status, error }: LiveQuery): void {
    if (status === 'open') this.#isTelling = true
    if (status !== 'closed') return
    this.#leave()
    this.#isRefused = true
    const { app, path } = this.#entry
    if (error === undefined) return
    app.logger.warn({ err: error }, `The listeners of '${path}' do not hear what others write`)
  }

  #leave(): void {
    const stream = this.#stream
    this.#stream = undefined
    this.#isTelling = false
    this.#told.clear()
    stream?.leave(this)
  }

  async #leaveToStream(context: HookContext, next: () => Promise<void>): Promise<void> {
    if (this.#stream === undefined) return next()
    if (this.#isTelling) {
      await next()
      // Any other event was named by a hook of the client and is unknown to the server.
      const isOwn = context.event !== null && WRITES.get(context.event) === context.method
      if (isOwn && this.#isTelling) context.event = null
      return
    }
    this.#earlyWrites.add(context)
    this.#early += 1
    try {
      await next()
    } finally {
      this.#early -= 1
    }
  }

  /** Returns whether the stream has already reported what is to be emitted. */
  #isTold(event?: unknown, data?: unknown, context?: unknown): boolean {
    if (!isObject(context) || !this.#earlyWrites.has(context)) return false
    const key = toKey(event, data)
    if (this.#told.delete(key)) return true
    if (this.#told.size >= MAX_TOLD) this.#told.clear()
    this.#told.add(key)
    return false
  }
}

function toKey(event: unknown, data: unknown): string {
  return `${event} ${JSON.stringify(data)}`
}

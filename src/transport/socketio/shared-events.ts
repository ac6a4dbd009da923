import type { LoginEnd } from '../../auth/login-end.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { BusEvent, BusReceiver, EventBus } from '../../core/events/event-bus.ts'
import type { HookContext } from '../../core/index.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { isObject } from '../../core/value-kind.ts'
import { followBus } from '../shared-bus.ts'
import type { CarriedEvent } from './carried-event.ts'
import { toCarried } from './carried-event.ts'
import type { Logins, UserChange } from './logins.ts'
import type { Audience, ServiceEvent } from './publishing.ts'
import { publishEvent } from './publishing.ts'
import { findRemoved } from './readable.ts'

/** The paths of these events on the bus begin with it. No path of a service begins with a slash. */
const PREFIX = '/sockets/'

/** What one process sends to the others. */
interface Message {
  /** The sending process, which ignores its own messages. */
  readonly from: string
  readonly changes?: readonly UserChange[]
  readonly end?: LoginEnd
  readonly event?: CarriedEvent
}

/** Carries events of services between the sockets of several processes, by the bus of the application. */
export class SharedEvents implements Pick<BusReceiver, 'receive' | 'lose'> {
  readonly #hub: Audience & { readonly logins: Logins }
  readonly #bus: EventBus
  readonly #from = crypto.randomUUID()
  /** Keeps events in order while `findRemoved` looks up where a record was stored. */
  readonly #queue = new SerialQueue()

  constructor(hub: Audience & { readonly logins: Logins }, bus: EventBus) {
    this.#hub = hub
    this.#bus = bus
    followBus(hub.app, bus, this)
  }

  /** Sends an event of this process, and the changes of users, to the others. */
  share(emitted: ServiceEvent, changes: readonly UserChange[]): void {
    const { app, channels, checksReads } = this.#hub
    const { entry, path, event, data } = emitted
    // In a message of its own: the event may be too large for the bus.
    if (changes.length > 0) this.#send(path, event, { changes })
    if (channels.findPublisher(entry, event) === undefined) return
    const carried = toCarried(app, emitted)
    const isAsked = checksReads && event === 'removed' && isObject(data)
    const send = async (): Promise<void> => {
      const removed = isAsked ? await findRemoved({ ...emitted, data }) : null
      this.#send(path, event, { event: { ...carried, removed } })
    }
    this.#queue.run(send).catch((error: unknown) => {
      logListenerError(app, error, `${path} ${event}`)
    })
  }

  /** Sends the end of logins to the other processes. */
  shareEnd(end: LoginEnd): void {
    this.#send('', 'logout', { end })
  }

  receive({ path: address, name, record }: BusEvent): void {
    const { app, clients, logins } = this.#hub
    if (!address.startsWith(PREFIX)) return
    const path = address.slice(PREFIX.length)
    const { from, changes = [], end, event } = (record ?? {}) as Partial<Message>
    if (from === undefined) {
      app.logger.warn(
        { service: path },
        'An event did not reach the sockets of other processes: it is too large for the bus, or not BSON',
      )
    }
    if (from === this.#from) return
    if (end !== undefined) logins.end(end)
    for (const change of changes) void logins.followUser(change)
    const entry = app.entries.get(path)
    // For example, an event from before the start of this process.
    if (event === undefined || entry === undefined || clients.size === 0) return
    const { data, call, removed } = event
    const { service } = entry
    const context = { ...call, app, path, service, result: data } as unknown as HookContext
    const emitted = { entry, path, event: name, data, context, payload: data, removed }
    void publishEvent(this.#hub, emitted)
  }

  lose(): void {
    this.#hub.app.logger.warn({}, 'Events of other processes were lost for the sockets of this one')
  }

  #send(path: string, name: string, message: Omit<Message, 'from'>): void {
    const record: Message = { from: this.#from, ...message }
    this.#bus.publish({ path: `${PREFIX}${path}`, name, id: null, place: '', record })
  }
}

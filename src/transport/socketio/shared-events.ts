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

/** What the paths of these events begin with: no path of a service begins with a slash. */
const PREFIX = '/sockets/'

/** What one process sends to the others. */
interface Message {
  /** The process. It takes no message of its own. */
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
  /** Keeps events in their order while the place of a removed record is looked up. */
  readonly #queue = new SerialQueue()

  constructor(hub: Audience & { readonly logins: Logins }, bus: EventBus) {
    this.#hub = hub
    this.#bus = bus
    followBus(hub.app, bus, this)
  }

  /** Hands an event of this process to the others, and what it says of users. */
  tell(told: ServiceEvent, changes: readonly UserChange[]): void {
    const { app, channels, checksReads } = this.#hub
    const { entry, path, event, data } = told
    // Apart from the event, which may be too large to be carried.
    if (changes.length > 0) this.#send(path, event, { changes })
    if (channels.findPublisher(entry, event) === undefined) return
    const carried = toCarried(app, told)
    const isAsked = checksReads && event === 'removed' && isObject(data)
    const send = async (): Promise<void> => {
      const removed = isAsked ? await findRemoved({ ...told, data }) : null
      this.#send(path, event, { event: { ...carried, removed } })
    }
    this.#queue.run(send).catch((error: unknown) => {
      logListenerError(app, error, `${path} ${event}`)
    })
  }

  /** Tells the others that logins have ended. */
  tellEnd(end: LoginEnd): void {
    this.#send('', 'logout', { end })
  }

  receive({ path: address, name, record }: BusEvent): void {
    const { app, clients, logins } = this.#hub
    if (!address.startsWith(PREFIX)) return
    const path = address.slice(PREFIX.length)
    const { from, changes = [], end, event } = (record ?? {}) as Partial<Message>
    if (from === undefined) {
      app.logger.warn({ service: path }, 'An event was too large, or no BSON, for other processes')
    }
    if (from === this.#from) return
    if (end !== undefined) logins.end(end)
    for (const change of changes) void logins.followUser(change)
    const entry = app.entries.get(path)
    // Without a client there is nobody to send it to: an event of before the start, for example.
    if (event === undefined || entry === undefined || clients.size === 0) return
    const { data, call, removed } = event
    const { service } = entry
    const context = { ...call, app, path, service, result: data } as unknown as HookContext
    const told = { entry, path, event: name, data, context, payload: data, removed }
    void publishEvent(this.#hub, told)
  }

  lose(): void {
    this.#hub.app.logger.warn({}, 'Events of other processes did not reach the sockets of this one')
  }

  #send(path: string, name: string, message: Omit<Message, 'from'>): void {
    const record: Message = { from: this.#from, ...message }
    this.#bus.publish({ path: `${PREFIX}${path}`, name, id: null, place: '', record })
  }
}

import { authenticationServices } from '../../auth/default-authentication.ts'
import { findEntityService } from '../../auth/entity-service.ts'
import type { LoginEnd } from '../../auth/login-end.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { BusEvent, BusReceiver, EventBus } from '../../core/events/event-bus.ts'
import type { Application, HookContext, Params } from '../../core/index.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { toBody } from '../service-reply.ts'
import { followBus } from '../shared-bus.ts'
import type { Connections, UserChange } from './logins.ts'
import { endLogins, followUser } from './logins.ts'
import type { Audience, ServiceEvent } from './publishing.ts'
import { hideFields, publishEvent, toPayload } from './publishing.ts'
import type { RemovedRecord } from './readable.ts'
import { findRemoved } from './readable.ts'

/** What the paths of these events begin with: no path of a service begins with a slash. */
const PREFIX = '/sockets/'

/** What other processes need of an event. */
interface CarriedEvent {
  /** The record as clients get it: what is hidden from them is not stored where the bus keeps its events. */
  readonly data: unknown
  readonly call?: object
  readonly removed: RemovedRecord | null
}

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
  readonly #hub: Audience & Connections
  readonly #bus: EventBus
  readonly #from = crypto.randomUUID()
  /** Keeps events in their order while the place of a removed record is looked up. */
  readonly #queue = new SerialQueue()

  constructor(hub: Audience & Connections, bus: EventBus) {
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
    const { app, clients } = this.#hub
    if (!address.startsWith(PREFIX)) return
    const path = address.slice(PREFIX.length)
    const { from, changes = [], end, event } = (record ?? {}) as Partial<Message>
    if (from === undefined) {
      app.logger.warn({ service: path }, 'An event was too large, or no BSON, for other processes')
    }
    if (from === this.#from) return
    if (end !== undefined) endLogins(this.#hub, end)
    for (const change of changes) void followUser(app, change, this.#hub)
    const entry = app.entries.get(path)
    // Without a client there is nobody to send it to: an event of before the start, for example.
    if (event === undefined || entry === undefined || clients.size === 0) return
    const { data, call, removed } = event
    const { service } = entry
    const context = { ...call, app, path, service, result: data } as unknown as HookContext
    void publishEvent(this.#hub, {
      entry,
      path,
      event: name,
      data,
      context,
      payload: data,
      removed,
    })
  }

  lose(): void {
    this.#hub.app.logger.warn({}, 'Events of other processes did not reach the sockets of this one')
  }

  #send(path: string, name: string, message: Omit<Message, 'from'>): void {
    const record: Message = { from: this.#from, ...message }
    this.#bus.publish({ path: `${PREFIX}${path}`, name, id: null, place: '', record })
  }
}

function toCarried(app: Application, told: ServiceEvent): Omit<CarriedEvent, 'removed'> {
  const { data: record, context } = told
  const data = toTyped(record, toPayload(told))
  if (context === undefined) return { data }
  const { method, event, type, id, params } = context
  return { data, call: { method, event, type, id, params: toCarriedParams(app, params) } }
}

/** Returns the params that publishers may ask for: what was called, and by which user. */
function toCarriedParams(app: Application, params: Params): object {
  const { query, route, provider } = params
  const carried: Record<string, unknown> = { query, route, provider }
  for (const { configuration } of authenticationServices(app).values()) {
    const { entity, service } = configuration
    if (entity == null) continue
    const user: unknown = Reflect.get(params, entity)
    carried[entity] = toTyped(user, hideFields(findEntityService(app, service), toBody(user)))
  }
  return carried
}

/** Returns what clients get of a record, with the types that its fields have there: JSON may have made texts of them. */
function toTyped(record: unknown, shown: unknown): unknown {
  const [typed, seen] = [toPlain(record), toPlain(shown)]
  if (typed === seen) return typed
  if (Array.isArray(typed) && Array.isArray(seen)) {
    return seen.map((one, index) => toTyped(typed[index], one))
  }
  if (isPlainObject(typed) && isPlainObject(seen)) {
    const fields = Object.entries(seen)
    return Object.fromEntries(fields.map(([name, one]) => [name, toTyped(typed[name], one)]))
  }
  return JSON.stringify(typed) === JSON.stringify(seen) ? typed : seen
}

/** Returns what JSON would make of an instance of a class, such as a model of another library. */
function toPlain(value: unknown): unknown {
  if (!isObject(value) || value instanceof Date || '_bsontype' in value) return value
  const { toJSON } = value
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

import { authenticationServices } from '../../auth/default-authentication.ts'
import { findEntityService } from '../../auth/entity-service.ts'
import type { LoginEnd } from '../../auth/login-end.ts'
import { logListenerError } from '../../core/events/emitter.ts'
import type { BusEvent, EventBus } from '../../core/events/event-bus.ts'
import type { Application, HookContext } from '../../core/index.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { hideFields } from '../../core/services/record-view.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { toBody } from '../service-reply.ts'
import { followBus } from '../shared-bus.ts'
import type { Hub } from './connection.ts'
import type { UserChange } from './logins.ts'
import { endLogins, followUser } from './logins.ts'
import type { ServiceEvent } from './publishing.ts'
import { findRemoved, publishEvent, toPayload } from './publishing.ts'

/** The paths of these events on the bus begin with it. No path of a service begins with a slash. */
const PREFIX = '/sockets/'

const NOT_CARRIED =
  'An event did not reach the sockets of other processes: it is too large for the bus, or not BSON'

/** What one process sends to the others. */
interface Message {
  /** The sending process. */
  readonly from: string
  readonly changes?: readonly UserChange[]
  readonly end?: LoginEnd
  /** The record as clients get it: the bus stores its events, and must not store hidden fields. */
  readonly event?: Pick<ServiceEvent, 'data' | 'removed'> & { readonly call: object | undefined }
}

/** Sends what the sockets of other processes need. */
export interface OtherProcesses {
  /** Sends an event of this process, and the changes of users. */
  share(emitted: ServiceEvent, changes: readonly UserChange[]): void
  /** Sends the end of logins. */
  shareEnd(end: LoginEnd): void
}

/** Passes service events between the sockets of several processes, over the bus of the application. */
export function joinProcesses(hub: Hub, bus: EventBus): OtherProcesses {
  const { app, channels, options } = hub
  const from = crypto.randomUUID()
  // Keeps events in order while `findRemoved` looks up where a record was stored.
  const queue = new SerialQueue()
  const send = (path: string, name: string, message: Omit<Message, 'from'>): void => {
    const record: Message = { from, ...message }
    bus.publish({ path: `${PREFIX}${path}`, name, id: null, place: '', record })
  }
  followBus(app, bus, {
    receive: (event) => receive(hub, from, event),
    lose: () =>
      app.logger.warn({}, 'Events of other processes were lost for the sockets of this one'),
  })
  return {
    shareEnd: (end) => send('', 'logout', { end }),
    share(emitted, changes) {
      const { entry, path, event, context } = emitted
      // Separately: the event may be too large for the bus.
      if (changes.length > 0) send(path, event, { changes })
      if (channels.findPublisher(entry, event) === undefined) return
      const data = toTyped(emitted.data, toPayload(emitted))
      const call = toCall(app, context)
      const sendEvent = async (): Promise<void> => {
        const removed = options.checkReads ? await findRemoved(emitted) : null
        send(path, event, { event: { data, call, removed } })
      }
      queue.run(sendEvent).catch((error: unknown) => {
        logListenerError(app, error, `${path} ${event}`)
      })
    },
  }
}

/** @param self this process, which ignores its own messages */
function receive(hub: Hub, self: string, { path: address, name, record }: BusEvent): void {
  const { app, clients } = hub
  if (!address.startsWith(PREFIX)) return
  const path = address.slice(PREFIX.length)
  const { from, changes = [], end, event } = (record ?? {}) as Partial<Message>
  if (from === undefined) app.logger.warn({ service: path }, NOT_CARRIED)
  if (from === self) return
  if (end !== undefined) endLogins(hub, end)
  for (const change of changes) followUser(hub, change)
  const entry = app.entries.get(path)
  // For example, an event from before the start of this process.
  if (event === undefined || entry === undefined || clients.size === 0) return
  const { call, data, removed } = event
  const context = { ...call, app, path, service: entry.service, result: data } as never
  void publishEvent(hub, { entry, path, event: name, data, context, payload: data, removed })
}

/** Returns what the context of a call carries to publishers of other processes, with the user of the call. */
function toCall(app: Application, context: HookContext | undefined): object | undefined {
  if (context === undefined) return undefined
  const { method, event, type, id, params } = context
  const { query, route, provider } = params
  const carried: Record<string, unknown> = { query, route, provider }
  for (const { configuration } of authenticationServices(app).values()) {
    const { entity, service } = configuration
    if (entity == null) continue
    const user: unknown = Reflect.get(params, entity)
    carried[entity] = toTyped(user, hideFields(findEntityService(app, service), toBody(user)))
  }
  return { method, event, type, id, params: carried }
}

/** Returns the fields of `shown` with the types that they have in the record: JSON may have turned them into strings. */
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

/** Returns what `toJSON()` of a class instance returns, such as a model of another library. BSON has dates and ids itself. */
function toPlain(value: unknown): unknown {
  if (!isObject(value) || value instanceof Date || '_bsontype' in value) return value
  const { toJSON } = value
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

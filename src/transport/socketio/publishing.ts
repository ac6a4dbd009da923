import { logListenerError } from '../../core/events/emitter.ts'
import type { Application, HookContext } from '../../core/index.ts'
import { STANDARD_EVENTS } from '../../core/method-table.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import { isObject } from '../../core/value-kind.ts'
import { pickResult } from '../replies/result-serializer.ts'
import type { RestTransport } from '../rest-transport.ts'
import { toBody } from '../service-reply.ts'
import type { ChannelPublisher, Channels } from './channels.ts'
import { Channel } from './channels.ts'
import type { Client } from './connection.ts'
import type { RecordEvent } from './readable.ts'
import { findReadable } from './readable.ts'

/** What is needed to send events. */
export interface Audience {
  readonly app: Application
  readonly channels: Channels
  /** The open sockets by their connections. */
  readonly clients: ReadonlyMap<object, Client>
  readonly checksReads: boolean
  /** Sends an event to clients. */
  send(name: string, payload: unknown, clients: readonly Client[]): void
  /** Its time limit applies to {@link findReadable}, which later events of the service wait for. */
  readonly transport: Pick<RestTransport, 'timeLimit'>
}

/** An event of a service. */
export interface ServiceEvent extends Omit<RecordEvent, 'data'> {
  /** The path of the service in this application. */
  readonly path: string
  /** The record, or what the service has emitted. */
  readonly data: unknown
  /** What clients get of an event of another process. */
  readonly payload?: unknown
}

/** The key of a service's queue of events in its entry: `checkReads` must not change their order. */
const QUEUE: unique symbol = Symbol('remex.waitingEvents')

/** Sends an event of a service to the connections in the channels that its publisher returns. Never rejects. */
export async function publishEvent(audience: Audience, emitted: ServiceEvent): Promise<void> {
  const { channels, checksReads } = audience
  const publisher = channels.findPublisher(emitted.entry, emitted.event)
  if (publisher === undefined) return
  const publish = async (): Promise<void> => sendEvent(audience, emitted, publisher)
  if (!checksReads) return publish()
  const queue = getOrAdd(emitted.entry.attachments, QUEUE, () => new SerialQueue()) as SerialQueue
  return queue.run(publish)
}

async function sendEvent(
  audience: Audience,
  emitted: ServiceEvent,
  publisher: ChannelPublisher,
): Promise<void> {
  const { app, checksReads } = audience
  const { entry, path, event, data } = emitted
  const { service } = entry
  const context =
    emitted.context ?? ({ app, path, service, result: data } as unknown as HookContext)
  try {
    const channel = toChannel(await publisher(data, context))
    if (channel === null) return
    app.emit('publish', event, channel, context, data)
    const payload = 'payload' in emitted ? emitted.payload : toPayload(emitted)
    const name = `${path} ${event}`.trim()
    for (const [own, clients] of groupByData(channel, audience.clients)) {
      if (own !== null) audience.send(name, toBody(own), clients)
      else if (!checksReads || !isObject(data)) audience.send(name, payload, clients)
      else await sendReadable(audience, name, { ...emitted, data }, clients)
    }
  } catch (error) {
    logListenerError(app, error, `${path} ${event}`)
  }
}

/** Returns the result of a publisher as one channel, `null` if it has no connections. */
function toChannel(returned: unknown): Channel | null {
  const list = [returned].flat(Number.POSITIVE_INFINITY).filter(Boolean) as Channel[]
  const [first, ...others] = list
  if (first === undefined) return null
  for (const one of [...list, ...list.flatMap(({ children }) => children)]) {
    // A publisher may name a channel for each record: empty ones are forgotten.
    if (one.length === 0) one.leave()
  }
  const channel = others.length === 0 ? first : new Channel([], null, list)
  return channel.length > 0 ? channel : null
}

/** Returns the clients of a channel by what they get in place of the record; the key `null` stands for the record. */
function groupByData(
  channel: Channel,
  clients: Audience['clients'],
): ReadonlyMap<unknown, readonly Client[]> {
  const groups = new Map<unknown, Client[]>()
  for (const connection of channel.connections) {
    const client = clients.get(connection)
    // A call that is still running may have joined a connection whose login has ended.
    if (client === undefined || client.isEnding) continue
    const data = channel.dataFor(connection)
    const group = groups.get(data)
    if (group === undefined) groups.set(data, [client])
    else group.push(client)
  }
  return groups
}

/** Returns the payload of an event: `context.dispatch`, else the record as external callers see it. */
export function toPayload({ entry, event, data, context }: ServiceEvent): unknown {
  const { dispatch = data, result, method: name = 'get' } = context ?? {}
  const index = Array.isArray(result) ? result.indexOf(data) : -1
  const shown = Array.isArray(dispatch) && index >= 0 ? (dispatch[index] as unknown) : dispatch
  const body = hideFields(entry.service, toBody(shown))
  const method = STANDARD_EVENTS.includes(event) ? entry.methods.get(name) : undefined
  return method === undefined ? body : pickResult(method, body)
}

/** Returns a record without the hidden fields of its service, which internal calls may see. */
export function hideFields(service: object | null, record: unknown): unknown {
  const isRecord =
    service !== null && isFollowable(service) && isObject(record) && !Array.isArray(record)
  return isRecord ? (service.hideFields?.(record) ?? record) : record
}

/** Sends an event to the clients for which `find` would show its record, in the form that `find` gives it. */
async function sendReadable(
  audience: Audience,
  name: string,
  record: RecordEvent,
  clients: readonly Client[],
): Promise<void> {
  const { timeLimit } = audience.transport
  await Promise.all(
    clients.map(async (client) => {
      const find = (): Promise<unknown> => findReadable(record, client)
      try {
        const shown = await (timeLimit === null ? find() : timeLimit.run(find))
        if (shown !== undefined) audience.send(name, shown, [client])
      } catch (error) {
        logListenerError(audience.app, error, name)
      }
    }),
  )
}

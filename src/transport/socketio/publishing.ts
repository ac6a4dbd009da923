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
import type { ToldRecord } from './readable.ts'
import { findReadable } from './readable.ts'

/** What events need to be sent. */
export interface Audience {
  readonly app: Application
  readonly channels: Channels
  /** The open sockets by their connections. */
  readonly clients: ReadonlyMap<object, Client>
  readonly checksReads: boolean
  /** Sends an event with what clients get. */
  send(name: string, payload: unknown, clients: readonly Client[]): void
  /** Its time limit holds for the calls of {@link findReadable} too: further events of the service wait for them. */
  readonly transport: Pick<RestTransport, 'timeLimit'>
}

/** An event of a service. */
export interface ServiceEvent extends Omit<ToldRecord, 'data'> {
  /** The path of the service in this application. */
  readonly path: string
  /** The record, or what the service has emitted. */
  readonly data: unknown
  /** What clients get, where another process has said so. */
  readonly payload?: unknown
}

/** Where the entry of a service keeps its events that wait for others: asking `find` takes time. */
const QUEUE: unique symbol = Symbol('remex.waitingEvents')

/** Sends an event of a service to the connections of the channels that its publisher returns. Never rejects. */
export async function publishEvent(audience: Audience, told: ServiceEvent): Promise<void> {
  const { channels, checksReads } = audience
  const publisher = channels.findPublisher(told.entry, told.event)
  if (publisher === undefined) return
  const publish = async (): Promise<void> => sendEvent(audience, told, publisher)
  if (!checksReads) return publish()
  const queue = getOrAdd(told.entry.attachments, QUEUE, () => new SerialQueue()) as SerialQueue
  return queue.run(publish)
}

async function sendEvent(
  audience: Audience,
  told: ServiceEvent,
  publisher: ChannelPublisher,
): Promise<void> {
  const { app, checksReads } = audience
  const { entry, path, event, data } = told
  const { service } = entry
  const context = told.context ?? ({ app, path, service, result: data } as unknown as HookContext)
  try {
    const channel = toChannel(await publisher(data, context))
    if (channel === null) return
    app.emit('publish', event, channel, context, data)
    const payload = 'payload' in told ? told.payload : toPayload(told)
    const name = `${path} ${event}`.trim()
    for (const [own, clients] of groupByData(channel, audience.clients)) {
      if (own !== null) audience.send(name, toBody(own), clients)
      else if (!checksReads || !isObject(data)) audience.send(name, payload, clients)
      else await sendReadable(audience, name, { ...told, data }, clients)
    }
  } catch (error) {
    logListenerError(app, error, `${path} ${event}`)
  }
}

/** Returns what a publisher has returned as one channel, `null` where there is no connection in it. */
function toChannel(returned: unknown): Channel | null {
  const list = [returned].flat(Number.POSITIVE_INFINITY).filter(Boolean) as Channel[]
  const [first, ...others] = list
  if (first === undefined) return null
  const channel = others.length === 0 ? first : new Channel([], null, list)
  return channel.length > 0 ? channel : null
}

/** Returns the clients of a channel by what they get in place of the record, `null` for the record. */
function groupByData(
  channel: Channel,
  clients: Audience['clients'],
): ReadonlyMap<unknown, readonly Client[]> {
  const groups = new Map<unknown, Client[]>()
  for (const connection of channel.connections) {
    const client = clients.get(connection)
    // One whose login has ended may have joined in a call that is still running.
    if (client === undefined || client.isEnding) continue
    const data = channel.dataFor(connection)
    const group = groups.get(data)
    if (group === undefined) groups.set(data, [client])
    else group.push(client)
  }
  return groups
}

/** Returns what clients get of an event: what a hook has set as `context.dispatch`, else the record as external callers see it. */
export function toPayload({ entry, event, data, context }: ServiceEvent): unknown {
  const { dispatch = data, result, method: name = 'get' } = context ?? {}
  const index = Array.isArray(result) ? result.indexOf(data) : -1
  const shown = Array.isArray(dispatch) && index >= 0 ? (dispatch[index] as unknown) : dispatch
  const body = hideFields(entry.service, toBody(shown))
  const method = STANDARD_EVENTS.includes(event) ? entry.methods.get(name) : undefined
  return method === undefined ? body : pickResult(method, body)
}

/** Returns a record without the fields that no client of its service sees: calls within the process have them. */
export function hideFields(service: object | null, record: unknown): unknown {
  const isRecord =
    service !== null && isFollowable(service) && isObject(record) && !Array.isArray(record)
  return isRecord ? (service.hideFields?.(record) ?? record) : record
}

/** Sends an event to those clients for which `find` would show its record, in the form that it has there. */
async function sendReadable(
  audience: Audience,
  name: string,
  record: ToldRecord,
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

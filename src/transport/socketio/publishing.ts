import { logListenerError } from '../../core/events/emitter.ts'
import { RECORD_NOTES } from '../../core/external-form.ts'
import type { MethodEntry } from '../../core/index.ts'
import { HookContext } from '../../core/index.ts'
import { STANDARD_EVENTS } from '../../core/method-table.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import type { FollowableService, RecordView } from '../../core/services/record-view.ts'
import { hideFields, isFollowable } from '../../core/services/record-view.ts'
import { runMethod } from '../../core/services/run-method.ts'
import { isObject } from '../../core/value-kind.ts'
import { FollowedFind, toFindResult } from '../finds/followed-find.ts'
import { pickResult } from '../replies/result-serializer.ts'
import { toBody } from '../service-reply.ts'
import type { ChannelPublisher } from './channels.ts'
import { Channel } from './channels.ts'
import type { Client, Hub } from './connection.ts'
import { logFault, SocketFacts } from './connection.ts'
import { toResult } from './socket-call.ts'

/** An event of a service. */
export interface ServiceEvent {
  readonly entry: MethodEntry['entry']
  /** The path of the service in this application. */
  readonly path: string
  readonly event: string
  /** The record, or what the service has emitted. */
  readonly data: unknown
  /** The context of the call, `undefined` for an event that the service emits itself. */
  readonly context: HookContext | undefined
  /** What clients get of an event of another process. */
  readonly payload?: unknown
  /** What {@link findRemoved} returned in the process of the call, if that was another one. */
  readonly removed?: RemovedRecord | null | undefined
}

/** A removed record as it was stored, without hidden fields, and where it was stored. */
export interface RemovedRecord {
  readonly place: string
  readonly record: object
}

/** The keys of a service's queue of events, and of its {@link FollowedFind}, in its entry. */
const QUEUE: unique symbol = Symbol('remex.waitingEvents')
const FIND: unique symbol = Symbol('remex.readableFind')

/** Sends an event of a service to the connections in the channels that its publisher returns. Never rejects. */
export async function publishEvent(hub: Hub, emitted: ServiceEvent): Promise<void> {
  const { entry, event } = emitted
  const publisher = hub.channels.findPublisher(entry, event)
  if (publisher === undefined) return
  const send = (): Promise<void> => sendEvent(hub, emitted, publisher)
  // `checkReads` must not change the order of events.
  const queue = () => getOrAdd(entry.attachments, QUEUE, () => new SerialQueue()) as SerialQueue
  return hub.options.checkReads ? queue().run(send) : send()
}

async function sendEvent(
  hub: Hub,
  emitted: ServiceEvent,
  publisher: ChannelPublisher,
): Promise<void> {
  const { app, clients, options } = hub
  const { entry, path, event, data } = emitted
  const { context = { app, path, service: entry.service, result: data } } = emitted
  const name = `${path} ${event}`.trim()
  try {
    const channel = toChannel(await publisher(data, context))
    if (channel === null) return
    app.emit('publish', event, channel, context, data)
    const payload = 'payload' in emitted ? emitted.payload : toPayload(emitted)
    for (const [own, members] of groupByData(channel, clients)) {
      if (own !== null) hub.send(name, toBody(own), members)
      else if (!options.checkReads || !isObject(data)) hub.send(name, payload, members)
      else await Promise.all(members.map((one) => sendReadable(hub, name, emitted, one)))
    }
  } catch (error) {
    logListenerError(app, error, name)
  }
}

/** Returns the result of a publisher as one channel, `null` if it has no connections. */
function toChannel(returned: unknown): Channel | null {
  const list = [returned].flat(Number.POSITIVE_INFINITY).filter(Boolean) as Channel[]
  const [first, ...others] = list
  if (first === undefined) return null
  // A publisher may name a channel for each record: empty ones are forgotten.
  for (const one of list) one.leave()
  const channel = others.length === 0 ? first : new Channel([], null, list)
  return channel.length > 0 ? channel : null
}

/** Returns the clients of a channel by what they get in place of the record; the key `null` stands for the record. */
function groupByData(
  channel: Channel,
  clients: Hub['clients'],
): ReadonlyMap<unknown, readonly Client[]> {
  const groups = new Map<unknown, Client[]>()
  const startGroup = (): Client[] => []
  for (const connection of channel.connections) {
    const client = clients.get(connection)
    // A call that is still running may have joined a connection whose login has ended.
    if (client === undefined || client.isEnding) continue
    getOrAdd(groups, channel.dataFor(connection), startGroup).push(client)
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

/** Sends an event to a client if it may read the record, in the form that the client would read. */
async function sendReadable(
  hub: Hub,
  name: string,
  emitted: ServiceEvent,
  client: Client,
): Promise<void> {
  const { timeLimit } = hub.transport
  const facts = new SocketFacts(client)
  const read = () => readRecord(emitted, facts)
  try {
    const shown = await (timeLimit === null ? read() : timeLimit.run(read))
    if (shown !== undefined) hub.send(name, shown, [client])
  } catch (error) {
    logFault(hub.app, error, name)
  } finally {
    facts.release()
  }
}

/**
 * Resolves to a record as a client would get it, `undefined` if the client may not read it. For MongoDB services, the hooks
 * and the query of `find` decide, also for removed records. For other services, `get` decides, and removed records are
 * never readable.
 */
async function readRecord(emitted: ServiceEvent, facts: SocketFacts): Promise<unknown> {
  const { entry, event, data } = emitted
  const { methods, service } = entry
  const find = methods.get('find')
  const get = methods.get('get')
  if (isFollowable(service) && find?.external) {
    const params = facts.createParams()
    const followed = getOrAdd(entry.attachments, FIND, () => new FollowedFind(find)) as FollowedFind
    let isKnown = true
    const shown = await followed.show(params, async (given) => {
      const view = await service.followRecords(given)
      isKnown = view !== null
      return view === null ? [] : toFindResult(view, await findSeen(emitted, service, view))
    })
    if (isKnown) return shown === undefined ? undefined : pickResult(find, shown)
  }
  const { id: idField = 'id' } = service as { readonly id?: string }
  const id: unknown = Reflect.get(data as object, idField)
  if (!get?.external || event === 'removed' || id === undefined) return undefined
  const call = new HookContext(get, service, id, undefined, facts.createParams())
  await runMethod(get, call)
  return toResult(get, call)
}

/** Resolves to the record of an event, if a view shows it. */
async function findSeen(
  emitted: ServiceEvent,
  service: FollowableService,
  view: RecordView,
): Promise<object[]> {
  const { event, data } = emitted
  let stored: object | undefined
  if (event !== 'removed')
    [stored] = (await view.read([Reflect.get(data as object, service.id)])) ?? []
  else if (view.asksHidden !== true) {
    // The query may read fields that a removed record now lacks, or the record was stored elsewhere.
    const { removed = await findRemoved(emitted) } = emitted
    if (removed?.place === view.place) stored = removed.record
  }
  return stored !== undefined && view.matches(stored) ? [view.pick(stored)] : []
}

/** Resolves to the removed record of an event, `null` if the service has not recorded it. */
export async function findRemoved({
  entry: { service },
  event,
  data,
  context,
}: ServiceEvent): Promise<RemovedRecord | null> {
  const stored = event === 'removed' ? RECORD_NOTES.get(data as object)?.stored : undefined
  if (stored === undefined || context === undefined || !isFollowable(service)) return null
  const place = await service.locateRecords(context.params)
  return { place, record: hideFields(service, stored) }
}

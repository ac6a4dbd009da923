import { RECORD_NOTES } from '../../core/external-form.ts'
import type { MethodEntry } from '../../core/index.ts'
import { HookContext, ServiceError } from '../../core/index.ts'
import { listFound } from '../../core/results.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import type { FollowableService, RecordView } from '../../core/services/record-view.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import { runMethod } from '../../core/services/run-method.ts'
import { FollowedFind, toFindResult } from '../finds/followed-find.ts'
import { pickResult } from '../replies/result-serializer.ts'
import { toBody } from '../service-reply.ts'
import type { Client } from './connection.ts'

/** An event of a record. */
export interface RecordEvent {
  readonly entry: MethodEntry['entry']
  readonly event: string
  readonly data: object
  /** The context of the call, `undefined` for an event that the service emits itself. */
  readonly context: HookContext | undefined
  /** What {@link findRemoved} returned in the process of the call, if that was another one. */
  readonly removed?: RemovedRecord | null
}

/** A removed record as it was stored, without hidden fields, and where it was stored. */
export interface RemovedRecord {
  readonly place: string
  readonly record: object
}

/** The key of a service's {@link FollowedFind} in its entry. */
const FIND: unique symbol = Symbol('remex.readableFind')

/**
 * Resolves to a record as a client would get it, `undefined` if the client may not read it. For MongoDB services, the hooks
 * and the query of `find` decide, also for removed records. For other services, `get` decides, and removed records are
 * never readable.
 */
export async function findReadable(emitted: RecordEvent, client: Client): Promise<unknown> {
  const { service, methods } = emitted.entry
  const find = methods.get('find')
  const get = methods.get('get')
  try {
    const isAsked = isFollowable(service) && find?.external === true
    const shown = isAsked ? await askFind(emitted, service, find, client) : null
    if (shown !== null || !get?.external) return shown ?? undefined
    return await askGet(emitted, get, client)
  } catch (error) {
    if (error instanceof ServiceError && error.code < 500) return undefined
    throw error
  }
}

/** Resolves to `null` if only a call of `find` can tell what it shows. */
async function askFind(
  emitted: RecordEvent,
  service: FollowableService,
  method: MethodEntry,
  client: Client,
): Promise<unknown> {
  const { entry, event, data } = emitted
  const find = getOrAdd(entry.attachments, FIND, () => new FollowedFind(method)) as FollowedFind
  const { facts, params } = client.createParams({}, {})
  let isKnown = true
  const asked = find.call(find.createContext(params), async (running) => {
    const view = await service.followRecords(running.params)
    if (view === null) {
      isKnown = false
      return []
    }
    const stored =
      event === 'removed'
        ? await seeRemoved(emitted, view)
        : (await view.read([Reflect.get(data, service.id)]))?.[0]
    return toFindResult(view, stored && view.matches(stored) ? [view.pick(stored)] : [])
  })
  const body = await asked.finally(() => facts.release())
  if (!isKnown) return null
  const record = listFound(body)?.[0]
  return record === undefined ? undefined : pickResult(method, record)
}

/** Resolves to a removed record, `undefined` if it was stored elsewhere, or the query reads fields that it now lacks. */
async function seeRemoved(emitted: RecordEvent, view: RecordView): Promise<object | undefined> {
  if (view.asksHidden === true) return undefined
  const { removed = await findRemoved(emitted) } = emitted
  return removed?.place === view.place ? removed.record : undefined
}

/** Resolves to the removed record of an event, `null` if the service has not noted it. */
export async function findRemoved({
  entry: { service },
  event,
  data,
  context,
}: RecordEvent): Promise<RemovedRecord | null> {
  const stored = event === 'removed' ? RECORD_NOTES.get(data)?.stored : undefined
  if (stored === undefined || context === undefined || !isFollowable(service)) return null
  const place = await service.locateRecords(context.params)
  return { place, record: service.hideFields?.(stored) ?? stored }
}

async function askGet(
  { entry, event, data }: RecordEvent,
  method: MethodEntry,
  client: Client,
): Promise<unknown> {
  if (event === 'removed') return undefined
  const { id: idField = 'id' } = entry.service as { readonly id?: string }
  const id: unknown = Reflect.get(data, idField)
  if (id === undefined) return undefined
  const { facts, params } = client.createParams({}, {})
  const call = new HookContext(method, entry.service, id, undefined, params)
  await runMethod(method, call).finally(() => facts.release())
  const { dispatch, result } = call
  return pickResult(method, toBody(dispatch === undefined ? result : dispatch))
}

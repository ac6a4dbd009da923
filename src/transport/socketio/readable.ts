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

/** A record that an event tells of. */
export interface ToldRecord {
  readonly entry: MethodEntry['entry']
  readonly event: string
  readonly data: object
  /** The context of the call, `undefined` for an event that a program has emitted by itself. */
  readonly context: HookContext | undefined
  /** What another process knows of a removed record: {@link findRemoved}. */
  readonly removed?: RemovedRecord | null
}

/** A removed record as it was stored, without hidden fields, and where that was. */
export interface RemovedRecord {
  readonly place: string
  readonly record: object
}

/** Where the entry of a service keeps what calls the hooks of its `find`. */
const FIND: unique symbol = Symbol('remex.readableFind')

/**
 * Resolves to a record as a client would get it, `undefined` if it would not. A service of MongoDB is asked by the hooks
 * and the query of `find`, whether or not the record is still there. Any other service is asked by `get`, which can't
 * say anything of a removed record.
 */
export async function findReadable(told: ToldRecord, client: Client): Promise<unknown> {
  const { service, methods } = told.entry
  const find = methods.get('find')
  const get = methods.get('get')
  try {
    const isAsked = isFollowable(service) && find?.external === true
    const shown = isAsked ? await askFind(told, service, find, client) : null
    if (shown !== null || !get?.external) return shown ?? undefined
    return await askGet(told, get, client)
  } catch (error) {
    if (error instanceof ServiceError && error.code < 500) return undefined
    throw error
  }
}

/** Resolves to `null` where only `find` itself knows what it shows. */
async function askFind(
  told: ToldRecord,
  service: FollowableService,
  method: MethodEntry,
  client: Client,
): Promise<unknown> {
  const { entry, event, data } = told
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
        ? await seeRemoved(told, view)
        : (await view.read([Reflect.get(data, service.id)]))?.[0]
    return toFindResult(view, stored && view.matches(stored) ? [view.pick(stored)] : [])
  })
  const body = await asked.finally(() => facts.release())
  if (!isKnown) return null
  const record = listFound(body)?.[0]
  return record === undefined ? undefined : pickResult(method, record)
}

/** Resolves to a removed record as it was stored, `undefined` if it was elsewhere, or the query asks for what it now lacks. */
async function seeRemoved(told: ToldRecord, view: RecordView): Promise<object | undefined> {
  if (view.asksHidden === true) return undefined
  const { removed = await findRemoved(told) } = told
  return removed?.place === view.place ? removed.record : undefined
}

/** Resolves to what the process that has removed a record knows of it, `null` where that is nothing. */
export async function findRemoved({
  entry: { service },
  event,
  data,
  context,
}: ToldRecord): Promise<RemovedRecord | null> {
  const stored = event === 'removed' ? RECORD_NOTES.get(data)?.stored : undefined
  if (stored === undefined || context === undefined || !isFollowable(service)) return null
  const place = await service.locateRecords(context.params)
  return { place, record: service.hideFields?.(stored) ?? stored }
}

async function askGet(
  { entry, event, data }: ToldRecord,
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

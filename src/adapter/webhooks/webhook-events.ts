import type { Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import type { AnyApplication } from '../../core/app.ts'
import type { AroundHook, HookContext, ServiceEntry } from '../../core/application-defaults.ts'
import { findServiceEntry } from '../../core/application-defaults.ts'
import { InvalidRequest } from '../../core/errors/coded-errors.ts'
import { RECORD_NOTES, toExternalForm } from '../../core/external-form.ts'
import { nameFunction } from '../../core/function-metadata.ts'
import { runRest } from '../../core/hooks/around-hooks.ts'
import { createResultForm } from '../../core/schema/service/result-form.ts'
import { hideFields } from '../../core/services/record-view.ts'
import { createContext, runMethod } from '../../core/services/run-method.ts'
import { isObject } from '../../core/value-kind.ts'
import { setRule } from '../call-rules.ts'
import { HooklessService } from '../hookless-service.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { pickSession } from '../mongodb-params.ts'
import { isSameId } from '../object-id.ts'
import type { RecordService } from '../record-hooks/record-hook.ts'
import { transaction } from '../transactions/transaction.ts'
import { toGroup } from './endpoint-pause.ts'
import type { StoredDelivery } from './webhook-delivery.ts'
import { DELIVERY_JOB, DELIVERY_PRIORITY } from './webhook-delivery.ts'
import type { StoredEndpoint } from './webhook-endpoints.ts'

/** Which endpoints get which events. */
export interface EventSetup {
  readonly app: AnyApplication
  readonly endpoints: RecordService
  readonly deliveries: RecordService
  readonly options: {
    readonly ownerField: string
    readonly keepDeliveriesMs: number
    readonly may?: MayReceive | undefined
  }
}

/** Returns whether the owner of an endpoint may see a record. */
export type MayReceive = (
  // biome-ignore lint/suspicious/noExplicitAny: the record of any service
  record: any,
  owner: unknown,
  context: HookContext,
) => boolean | Promise<boolean>

/** How many deliveries a call may store: each is in its transaction, whose time is limited. */
const MAX_DELIVERIES = 1_000

/** A record as internal calls see it, which decides who may get it, and how external callers see it. */
interface EventRecord {
  readonly record: Document
  readonly show: () => Promise<unknown>
}

/**
 * Returns an around hook that stores a delivery and its job for each event of a call and each endpoint that may get it, in
 * one transaction with what the call writes. It must be the outermost hook: the others decide what external callers see.
 * @param names the events of the service
 */
export function createEventHook(setup: EventSetup, names: readonly string[]): AroundHook {
  let runInTransaction: AroundHook | undefined
  const hook: AroundHook = async (context, next) => {
    runInTransaction ??= transaction({ client: (await setup.app.jobs.getModel()).db.client })
    await runInTransaction(context, async (...reasons) => {
      if (context.service instanceof HooklessService) setRule(context, hook, { notesRemoved: true })
      await runRest(next, reasons)
      if (names.includes(String(context.event))) await storeDeliveries(setup, context)
    })
  }
  return nameFunction('webhooks', hook)
}

async function storeDeliveries(setup: EventSetup, context: HookContext): Promise<void> {
  const { ownerField, may, keepDeliveriesMs } = setup.options
  const params: MongoDBParams = context.params
  const records = await readRecords(context)
  const owners = records.map(({ record }) => record[ownerField]).filter((owner) => owner != null)
  if (may === undefined && owners.length === 0) return
  const event = `${context.path}.${context.event}`
  const query = { events: event, enabled: true, ...(may ? {} : { owner: { $in: owners } }) }
  const session = pickSession(params)
  const found: StoredEndpoint[] = await setup.endpoints._find({
    ...{ ...session, query, paginate: false },
  })
  const createdAt = new Date()
  const expiresAt = new Date(createdAt.getTime() + keepDeliveriesMs)
  const stored: StoredDelivery[] = []
  for (const { record, show } of records) {
    let body: string | undefined
    for (const { _id: endpointId, owner } of found) {
      const isOwn = record[ownerField] != null && isSameId(record[ownerField], owner)
      if (!(may === undefined ? isOwn : (await may(record, owner, context)) === true)) continue
      body ??= JSON.stringify({ type: event, timestamp: createdAt, data: await show() })
      const state = { status: 'pending', answers: [], createdAt, expiresAt } as const
      stored.push({ _id: new ObjectId(), endpointId, owner, event, body, ...state })
    }
  }
  if (stored.length === 0) return
  if (stored.length > MAX_DELIVERIES) {
    const many = `${stored.length} deliveries of webhooks, more than ${MAX_DELIVERIES}`
    throw new InvalidRequest(`The call has ${many}. Write fewer records at once`)
  }
  await setup.deliveries._create(stored, { ...session, adapter: { multi: true } })
  const added = stored.map(({ _id: id, endpointId }) => ({
    ...{ data: { id }, key: String(id), group: toGroup(endpointId) },
  }))
  await setup.app.jobs.enqueueAll(DELIVERY_JOB, added, { params, priority: DELIVERY_PRIORITY })
}

/** Resolves to the records of a result. If `$select` shows a part of them, they are read by `get`. */
async function readRecords(context: HookContext): Promise<EventRecord[]> {
  const entry = findServiceEntry(context.service) as ServiceEntry
  const { params, event, method } = context
  const { id: idField = '_id' } = entry.service as { readonly id?: string }
  const isPart = params.query?.$select !== undefined && event !== 'removed'
  const get = isPart ? entry.methods.get('get') : undefined
  const inner = { ...pickSession(params), ...(params.route && { route: params.route }) }
  const records: EventRecord[] = []
  for (const [index, item] of [context.result as unknown].flat().entries()) {
    if (!isObject(item)) continue
    let [source, record]: [HookContext, Document] = [context, item]
    if (get !== undefined) {
      source = createContext(get, entry.service, [item[idField], inner])
      record = (await runMethod(get, source)) as Document
    }
    const { dispatch } = source
    const sent: unknown = Array.isArray(dispatch) ? dispatch[index] : dispatch
    records.push({
      record: RECORD_NOTES.get(item)?.stored ?? record,
      show: () => showRecord(entry, method, sent ?? record),
    })
  }
  return records
}

const PICK_OPTIONS = { asJSON: true, onOtherType: () => undefined, onLeftOut: () => undefined }

/** Returns what external callers see of a record: without hidden fields, and only what the schemas name. */
async function showRecord(entry: ServiceEntry, method: string, record: unknown): Promise<unknown> {
  const { schemas, service } = entry
  const body = toExternalForm(record)
  const rest = hideFields(service, body)
  await schemas?.load()
  for (const name of ['get', 'find', method]) {
    const { result, isWhole } = schemas?.toMethodSchemas(name) ?? {}
    const isOfRecord = result !== undefined && (name === 'get' || isWhole !== true)
    if (isOfRecord) return createResultForm(result).pick(rest, '', PICK_OPTIONS)
  }
  return rest
}

import { authenticationServices } from '../../auth/default-authentication.ts'
import { findEntityService } from '../../auth/entity-service.ts'
import type { Application, Params } from '../../core/index.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { toBody } from '../service-reply.ts'
import type { ServiceEvent } from './publishing.ts'
import { hideFields, toPayload } from './publishing.ts'
import type { RemovedRecord } from './readable.ts'

/** What the bus carries of an event. */
export interface CarriedEvent {
  /** The record as clients get it: the bus stores its events, and must not store hidden fields. */
  readonly data: unknown
  readonly call?: object
  readonly removed: RemovedRecord | null
}

/** Returns what the bus carries of an event, without the removed record: only `checkReads` needs it. */
export function toCarried(app: Application, emitted: ServiceEvent): Omit<CarriedEvent, 'removed'> {
  const { data: record, context } = emitted
  const data = toTyped(record, toPayload(emitted))
  if (context === undefined) return { data }
  const { method, event, type, id, params } = context
  return { data, call: { method, event, type, id, params: toCarriedParams(app, params) } }
}

/** Returns the params that publishers of other processes get: those of the call, and its user. */
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

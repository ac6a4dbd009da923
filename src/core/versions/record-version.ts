import { BadRequest, PreconditionFailed, PreconditionRequired } from '../errors/index.ts'
import { isObject } from '../value-kind.ts'
import { isVersion, toVersionTag } from './version-tag.ts'

/** How the records of a service are versioned. */
export interface RecordVersions {
  /** The field of the version. */
  readonly field: string
  /** Whether callers outside have to name the version that they change or remove. */
  readonly isRequired: boolean
}

/** A service whose records may have versions: that of MongoDB is one. */
interface VersionedService {
  readonly recordVersions?: RecordVersions | null
}

/** A call with data. */
interface DataCall {
  readonly data?: unknown
  readonly method: string
  readonly service: object
}

/** Returns how the records of a service are versioned; `null` where they are not. */
export function findRecordVersions(service: VersionedService): RecordVersions | null {
  return service.recordVersions ?? null
}

/** Methods that answer with a record as it is now. */
const ANSWERING: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch'])

/**
 * Whether a method has answered with one record, as it is now.
 * @param singleton whether the service is one record, which is found and not got
 */
export function answersRecord(
  method: string,
  result: unknown,
  { singleton = false }: { readonly singleton?: boolean } = {},
): result is Record<string, unknown> {
  const isAnswering = ANSWERING.has(method) || (singleton && method === 'find')
  return isAnswering && isObject(result) && !Array.isArray(result)
}

/** Returns the entity tag of a record of a service, `undefined` where the record does not have its version. */
export function findVersionTag(
  service: object,
  record: Record<string, unknown>,
): string | undefined {
  const versions = findRecordVersions(service)
  const version = versions === null ? undefined : record[versions.field]
  return isVersion(version) ? toVersionTag(version) : undefined
}

/**
 * Returns the version in the data of a call, `null` for none. A schema may drop it as an unknown field, but it is a
 * condition of the write: without it, the write would overwrite another caller's.
 */
export function pickVersion({ data, method, service }: DataCall): Record<string, unknown> | null {
  if (!isObject(data) || (method !== 'update' && method !== 'patch')) return null
  const { field } = findRecordVersions(service) ?? {}
  return field === undefined || data[field] === undefined ? null : { [field]: data[field] }
}

/** Returns the error for a write that expects another version than the record has. */
export function createVersionError(current: number): PreconditionFailed {
  return new PreconditionFailed('The record has been changed since it was read', { current })
}

/** Returns the error for a write on many records that expects a version. */
export function createManyError(): BadRequest {
  return new BadRequest('Many records have no version in common: write them one by one')
}

/** Returns the error for a write that expects a version of a record that can have none. */
export function createUnversionedError(): PreconditionFailed {
  return new PreconditionFailed('The records of this service have no versions')
}

/** Returns the error for a write that has to name a version, and does not. */
export function createRequiredError(): PreconditionRequired {
  return new PreconditionRequired('The version of the record is required, as If-Match')
}

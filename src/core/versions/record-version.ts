import {
  InvalidVersion,
  VersionConflict,
  VersionRequired,
  VersionUnsupported,
} from '../errors/coded-errors.ts'
import type { BadRequest, PreconditionFailed, PreconditionRequired } from '../errors/index.ts'
import { isObject } from '../value-kind.ts'
import { isVersion, toVersionTag } from './version-tag.ts'

/** How the records of a service are versioned. */
export interface RecordVersions {
  /** The field of the version. */
  readonly field: string
  /** Whether external callers must name the version that they change or remove. */
  readonly isRequired: boolean
}

/** A service whose records may have versions, such as a MongoDB service. */
interface VersionedService {
  readonly recordVersions?: RecordVersions | null
}

/** A call with data. */
interface DataCall {
  readonly data?: unknown
  readonly method: string
  readonly service: object
}

/** Returns how the records of a service are versioned; `null` if they are not. */
export function findRecordVersions(service: VersionedService): RecordVersions | null {
  return service.recordVersions ?? null
}

/** Methods that return a record in its current state. */
const ANSWERING: ReadonlySet<string> = new Set(['get', 'create', 'update', 'patch'])

/**
 * Whether the result of a method is one record in its current state.
 * @param singleton whether the service is one record, read by `find` instead of `get`
 */
export function answersRecord(
  method: string,
  result: unknown,
  { singleton = false }: { readonly singleton?: boolean } = {},
): result is Record<string, unknown> {
  const isAnswering = ANSWERING.has(method) || (singleton && method === 'find')
  return isAnswering && isObject(result) && !Array.isArray(result)
}

/** Returns the entity tag of a record of a service, `undefined` if the record has no version. */
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

/** Returns the error for a write that expects a different version of the record. */
export function createVersionError(current: number): PreconditionFailed {
  return new VersionConflict('The record has been changed since it was read', { current })
}

/** Returns the error for a write on many records that expects a version. */
export function createManyError(): BadRequest {
  return new InvalidVersion('Many records have no version in common: write them one by one')
}

/** Returns the error for a write that expects a version of a record that can have none. */
export function createUnversionedError(): PreconditionFailed {
  return new VersionUnsupported('The records of this service have no versions')
}

/** Returns the error for a write that must name a version, but does not. */
export function createRequiredError(): PreconditionRequired {
  return new VersionRequired('The version of the record is required, as If-Match')
}

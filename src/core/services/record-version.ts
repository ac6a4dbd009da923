import { PreconditionFailed, PreconditionRequired } from '../errors/index.ts'

/** How the records of a service are versioned. */
export interface RecordVersions {
  /** The field of the version. */
  readonly field: string
  /** Whether callers outside have to name the version that they change or remove. */
  readonly isRequired: boolean
}

/** A service whose records may have versions: that of MongoDB is one. */
export interface VersionedService {
  readonly recordVersions?: RecordVersions | null
}

/** Returns how the records of a service are versioned; `null` where they are not. */
export function findRecordVersions(service: VersionedService): RecordVersions | null {
  return service.recordVersions ?? null
}

/** Returns the error for a write that expects another version than the record has. */
export function createVersionError(current: number): PreconditionFailed {
  return new PreconditionFailed('The record has been changed since it was read', { current })
}

/** Returns the error for a write that has to name a version, and does not. */
export function createRequiredError(): PreconditionRequired {
  return new PreconditionRequired('The version of the record is required, as If-Match')
}

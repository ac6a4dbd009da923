import { InvalidVersion } from '../../core/errors/coded-errors.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import type { RecordVersions } from '../../core/versions/record-version.ts'
import {
  answersRecord,
  createManyError,
  createRequiredError,
  createUnversionedError,
  createVersionError,
  findVersionTag,
} from '../../core/versions/record-version.ts'
import { EXPECTED_VERSION, isVersion } from '../../core/versions/version-tag.ts'
import type { CallRule } from '../adapter-call.ts'
import type { AskedCall, CalledService, CallFeature } from '../call-feature.ts'
import { ON_MANY, ON_ONE } from '../mongodb-params.ts'
import { createIdFilter } from '../queries/find.ts'
import { createRecordFilter } from '../queries/split-query.ts'
import { createFieldError, takeField } from '../writes/write-data.ts'

/** Versions of records. A write raises the version, and may expect a certain one. */
export const VERSIONS: CallFeature = {
  askedBy: { option: 'version', param: 'version' },
  ownField: 'version',
  createRule: createVersionRule,
  checkExternal({ settings }, params, data) {
    if (params.headers?.['if-none-match'] !== undefined) {
      throw new InvalidVersion('If-None-Match is for reads: name the version by If-Match')
    }
    const { requireVersion, version } = settings
    if (!requireVersion || version === undefined || params.version !== undefined) return
    if (data[version] === undefined) throw createRequiredError()
  },
  createMembers: () => VERSION_MEMBERS,
  describeAnswer: (service, method, result) =>
    answersRecord(method, result) ? { etag: findVersionTag(service, result) } : {},
}

/** What transports and OpenAPI read from a service. */
export interface VersionMembers {
  /** How records are versioned, `null` if they are not. */
  readonly recordVersions: RecordVersions | null
}

const VERSION_MEMBERS: VersionMembers & ThisType<CalledService> = {
  get recordVersions() {
    const { version: field, requireVersion: isRequired } = this.options
    return field === undefined ? null : { field, isRequired }
  },
}

/** The version of new records. A record from before the option was set has no version, which counts as 0. */
const FIRST_VERSION = 1

/**
 * Returns the rule of a call whose records have versions, or that expects one.
 * @throws {BadRequest} the call expects a version of many records
 * @throws {TypeError} `params.version` is not a version, or the service has no versions
 */
function createVersionRule(asked: AskedCall): CallRule {
  const { version: field } = asked.settings
  const isAsked = asked.params.version !== undefined
  // The versions that a record may have when it is written; `undefined` for any.
  let expected = readExpected(asked)
  const rule: CallRule = {
    // If-Match implies that the record exists, so never upsert.
    settle(driver) {
      if (isAsked && driver.upsert === true) driver.upsert = false
    },
    aim(filter) {
      if (expected === undefined) return filter
      // Without versions, no record can match: the filter finds nothing, and the error explains why.
      const versions = field === undefined ? [] : expected
      const alternatives = versions.includes(0) ? [...versions, null] : versions
      return createRecordFilter(filter, field ?? '_id', { $in: alternatives })
    },
    async explainMissing(call, id) {
      if (expected === undefined) return
      const { session, collation } = call.driver
      const name = field ?? '_id'
      const found = await call.collection.findOne(createIdFilter(call, id), {
        projection: { [name]: 1 },
        ...(session && { session }),
        ...(collation && { collation }),
      })
      if (found === null) return
      throw field === undefined ? createUnversionedError() : createVersionError(found[name] ?? 0)
    },
  }
  if (field === undefined) return rule
  return {
    ...rule,
    // Every result contains the version, like the id: callers need it for their next write.
    fields: [field],
    computed: { [field]: { $add: [{ $ifNull: [`$${field}`, 0] }, 1] } },
    show: (record) => (record[field] === undefined ? { ...record, [field]: 0 } : record),
    // The version in the data of a write on one record is the one that the caller read: a condition like
    // `params.version`.
    take(data, { driver }, isOne) {
      const { value: version, others } = takeField(data, field)
      if (version === undefined) return others
      if (!isOne) throw createFieldError(field)
      if (!isVersion(version)) {
        throw new InvalidVersion(`The field '${field}' must be the version that the record has`)
      }
      expected = (expected ?? [version]).filter((one) => one === version)
      // A version mismatch must not add a record.
      driver.upsert = false
      return others
    },
    // A version in the data is kept, as for a copied record.
    toNew(document) {
      const { [field]: version = FIRST_VERSION } = document
      if (isVersion(version)) return { ...document, [field]: version }
      throw new InvalidVersion(`The field '${field}' must be a whole number from 0 on`)
    },
    toUpdate: (update) => ({ ...update, $inc: { ...update['$inc'], [field]: 1 } }),
    unmark: (record) => ({ ...record, [field]: record[field] - 1 }),
  }
}

function readExpected({ operation, params, settings }: AskedCall): readonly number[] | undefined {
  const { version: expected } = params
  if (expected === undefined || expected === '*') return undefined
  if (ON_MANY.has(operation)) throw createManyError()
  if (!ON_ONE.has(operation)) return undefined
  if (settings.version === undefined && typeof expected === 'number') {
    throw new ArgumentError("params.version needs the option 'version' of MongoDBService")
  }
  const versions = [expected].flat()
  if (versions.every(isVersion)) return versions
  throw new ArgumentError(EXPECTED_VERSION)
}

import type { Document } from 'mongodb'
import { EXPECTED_VERSION, isVersion } from '../../core/entity-tag.ts'
import { BadRequest } from '../../core/errors/index.ts'
import {
  createManyError,
  createUnversionedError,
  createVersionError,
} from '../../core/services/record-version.ts'
import type { AdapterCall, CallRule } from '../adapter-call.ts'
import type { AskedCall } from '../call-feature.ts'
import type { DriverOptions } from '../mongodb-params.ts'
import { ON_MANY, ON_ONE } from '../mongodb-params.ts'
import type { AdapterId } from '../object-id.ts'
import { createIdFilter } from '../queries/find.ts'
import { createRecordFilter } from '../queries/split-query.ts'
import type { WriteData } from '../writes/write-data.ts'
import { createFieldError, takeField } from '../writes/write-data.ts'

/** The version of new records. A record from before the option was set has none, which counts as 0. */
const FIRST_VERSION = 1

/** The rule of a call in which a write may expect a version. Where records have none, `'*'` alone fits. */
export class ExpectationRule implements CallRule {
  /** The versions of which a record that is written has to have one; `undefined` for any. */
  protected expected: readonly number[] | undefined
  readonly #isNamed: boolean

  /**
   * @throws {BadRequest} many records are to have the version
   * @throws {TypeError} `params.version` is no version, or the service has none
   */
  constructor(asked: AskedCall) {
    this.#isNamed = asked.params.version !== undefined
    this.expected = readExpected(asked)
  }

  /** Whoever expects a record, in whatever version, has none added. */
  settle(driver: DriverOptions): void {
    if (this.#isNamed && driver.upsert === true) driver.upsert = false
  }

  /** Without versions, no record has one that is expected: the filter matches nothing, and the error tells why. */
  aim(filter: Document): Document {
    return this.expected === undefined ? filter : createRecordFilter(filter, '_id', { $in: [] })
  }

  /** @throws {PreconditionFailed} the record is there, and has another version, which is `data.current` */
  async explainMissing(call: AdapterCall, id: AdapterId): Promise<void> {
    if (this.expected === undefined) return
    const found = await findField(call, id, '_id')
    if (found !== null) throw createUnversionedError()
  }
}

/** The rule of calls of a service whose records have versions. */
export class VersionRule extends ExpectationRule {
  /** The version is in each answer, as the id is: callers need it for their next write. */
  readonly fields: readonly string[]
  readonly computed: Document
  readonly #field: string

  /** @throws as {@link ExpectationRule} */
  constructor(asked: AskedCall, field: string) {
    super(asked)
    this.#field = field
    this.fields = [field]
    this.computed = { [field]: { $add: [{ $ifNull: [`$${field}`, 0] }, 1] } }
  }

  show(record: Document): Document {
    return record[this.#field] === undefined ? { ...record, [this.#field]: 0 } : record
  }

  /**
   * Takes the version out of the data of a write on one record: it is the one that the caller has read, and
   * a condition as `params.version` is.
   * @throws {BadRequest} it is no version, an operator is to change it, or many records are to have it
   */
  take(data: WriteData, { driver }: AdapterCall, isOne: boolean): WriteData {
    const field = this.#field
    const { value: version, others } = takeField(data, field)
    if (version === undefined) return others
    if (!isOne) throw createFieldError(field)
    if (!isVersion(version)) {
      throw new BadRequest(`The field '${field}' must be the version that the record has`)
    }
    const { expected = [version] } = this
    this.expected = expected.filter((one) => one === version)
    // A record with another version is no reason to add one.
    driver.upsert = false
    return others
  }

  /**
   * A version that the data has stays: that of a copy.
   * @throws {BadRequest} the data has something else in the field of the version
   */
  toNew(document: Document): Document {
    const { [this.#field]: version = FIRST_VERSION } = document
    if (isVersion(version)) return { ...document, [this.#field]: version }
    throw new BadRequest(`The field '${this.#field}' must be a whole number from 0 on`)
  }

  toUpdate(update: Document): Document {
    return { ...update, $inc: { ...update['$inc'], [this.#field]: 1 } }
  }

  override aim(filter: Document): Document {
    const { expected } = this
    if (expected === undefined) return filter
    const alternatives = expected.includes(0) ? [...expected, null] : expected
    return createRecordFilter(filter, this.#field, { $in: alternatives })
  }

  override async explainMissing(call: AdapterCall, id: AdapterId): Promise<void> {
    if (this.expected === undefined) return
    const found = await findField(call, id, this.#field)
    if (found !== null) throw createVersionError(found[this.#field] ?? 0)
  }

  unmark(record: Document): Document {
    return { ...record, [this.#field]: record[this.#field] - 1 }
  }
}

function readExpected({ operation, params, settings }: AskedCall): readonly number[] | undefined {
  const { version: expected } = params
  if (expected === undefined || expected === '*') return undefined
  if (ON_MANY.has(operation)) throw createManyError()
  if (!ON_ONE.has(operation)) return undefined
  if (settings.version === undefined && typeof expected === 'number') {
    throw new TypeError("params.version needs the option 'version' of MongoDBService")
  }
  const versions = [expected].flat()
  if (versions.every(isVersion)) return versions
  throw new TypeError(EXPECTED_VERSION)
}

/** Resolves to a record with one of its fields, as the command that has missed it would have seen it. */
async function findField(
  call: AdapterCall,
  id: AdapterId,
  field: string,
): Promise<Document | null> {
  const { session, collation } = call.driver
  return call.collection.findOne(createIdFilter(call, id), {
    projection: { [field]: 1 },
    ...(session && { session }),
    ...(collation && { collation }),
  })
}

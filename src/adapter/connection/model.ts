import type { IndexDescription } from 'mongodb'
import { OptionError } from '../../core/errors/setup-errors.ts'
import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isObject, isPlainObject, isPromise } from '../../core/value-kind.ts'
import { callDatabase } from '../driver-error.ts'
import type { AnyCollection, MongoDBSettings } from '../mongodb-options.ts'

type Model = MongoDBSettings['Model']
type ModelFunction = Extract<Model, () => unknown>

/** What the option `Model` may be, in words. */
export const MODEL_EXPECTED =
  "a MongoDB collection, as db.collection('name') returns it, a promise of one, or a function that returns either"

/** The collections that functions have returned, so that each of them is called once. */
const opened = new WeakMap<ModelFunction, Promise<AnyCollection>>()

/** Returns whether a value can be the option `Model`. What a promise or function gives is checked later. */
export function isModel(value: unknown): value is Model {
  return typeof value === 'function' || isPromise(value) || isCollection(value)
}

/**
 * Returns the collection of the option, or a promise of it. A function is called when the collection is first
 * needed; if it fails or returns no collection, it is called again next time.
 * @throws {TypeError} the promise or function gives something other than a collection
 * @throws {ServiceError} whatever the promise or the function failed with
 */
export function openModel(model: Model): AnyCollection | Promise<AnyCollection> {
  return isCollection(model) ? model : awaitModel(model)
}

async function awaitModel(model: Exclude<Model, AnyCollection>): Promise<AnyCollection> {
  const collection: unknown = await callDatabase(async () =>
    typeof model === 'function' ? callOnce(model) : model,
  )
  if (isCollection(collection)) return collection
  throw new OptionError(`MongoDBService: the option 'Model' must be ${MODEL_EXPECTED}`)
}

/** Calls that come before the first one has ended share its result. */
function callOnce(model: ModelFunction): Promise<AnyCollection> {
  const known = opened.get(model)
  if (known !== undefined) return known
  const collection = (async () => model())()
  opened.set(model, collection)
  const forget = (): boolean => opened.delete(model)
  collection.then((value) => isCollection(value) || forget(), forget)
  return collection
}

/**
 * Databases and clients have no `findOne`, and the `collection` of a Mongoose model, which wraps the driver's, has no
 * `db`. A class of another library is not a collection.
 */
function isCollection(value: unknown): value is AnyCollection {
  return isObject(value) && typeof value['findOne'] === 'function' && value['db'] !== undefined
}

const NUMBER: OptionRule = {
  expected: 'a number',
  isValid: (value) => typeof value === 'number' && !Number.isNaN(value),
}

/** The options that an index may have. The driver silently drops names that it does not know. */
export const INDEX_RULES: OptionRules = {
  key: {
    expected: 'an object or a Map of fields, at least one',
    isValid: (value) =>
      value instanceof Map ? value.size > 0 : isPlainObject(value) && Object.keys(value).length > 0,
  },
  name: OPTION.string,
  unique: OPTION.boolean,
  sparse: OPTION.boolean,
  hidden: OPTION.boolean,
  partialFilterExpression: OPTION.object,
  collation: OPTION.object,
  expireAfterSeconds: OPTION.count,
  weights: OPTION.object,
  default_language: OPTION.string,
  language_override: OPTION.string,
  textIndexVersion: NUMBER,
  wildcardProjection: OPTION.object,
  '2dsphereIndexVersion': NUMBER,
  bits: NUMBER,
  min: NUMBER,
  max: NUMBER,
  storageEngine: OPTION.object,
}

/** Returns whether a value can be the option `indexes`, apart from what {@link INDEX_RULES} checks. */
export function isIndexList(value: unknown): value is readonly IndexDescription[] {
  return (
    Array.isArray(value) &&
    value.every((index) => isPlainObject(index) && index['key'] !== undefined)
  )
}

/**
 * Creates the missing indexes of a service, one command each, so that an error can name the index. A service
 * does not start without its indexes: without a unique one it would accept duplicates.
 * @throws {Error} names the service and the index; the `cause` says why
 */
export async function createIndexes(path: string, settings: MongoDBSettings): Promise<void> {
  for (const index of settings.indexes) {
    try {
      const collection = await openModel(settings.Model)
      // A copy, since the driver changes its argument.
      await collection.createIndexes([{ ...index }])
    } catch (cause) {
      throw new Error(`Cannot create the index ${getIndexName(index)} of '${path}'`, { cause })
    }
  }
}

/** Returns the name that the driver makes up for an index without one. */
function getIndexName({ name, key }: IndexDescription): string {
  return name ?? [...(key instanceof Map ? key : Object.entries(key))].flat().join('_')
}

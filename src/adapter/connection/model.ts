import { isObject, isPromise } from '../../core/value-kind.ts'
import { callDatabase } from '../driver-error.ts'
import type { AnyCollection, MongoDBSettings } from '../mongodb-options.ts'

type Model = MongoDBSettings['Model']
type ModelFunction = Extract<Model, () => unknown>

/** What the option `Model` may be, in words. */
export const MODEL_EXPECTED =
  "a MongoDB collection, as db.collection('name') returns it, a promise of one, or a function that returns either"

/** The collections that functions have returned, so that each of them is called once. */
const opened = new WeakMap<ModelFunction, Promise<AnyCollection>>()

/** Returns whether a value can be the option `Model`; what comes later of it is not known yet. */
export function isModel(value: unknown): value is Model {
  return typeof value === 'function' || isPromise(value) || isCollection(value)
}

/**
 * Returns the collection that the option stands for, or a promise of it. A function is called at the
 * first need; one that fails or returns no collection is called again at the next.
 * @throws {TypeError} a promise or a function of something else than a collection
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
  throw new TypeError(`MongoDBService: the option 'Model' must be ${MODEL_EXPECTED}`)
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

/** A database or a client has no `findOne`. A class of another library that has one is no collection. */
function isCollection(value: unknown): value is AnyCollection {
  return isObject(value) && typeof value['findOne'] === 'function'
}

import type { IndexDescription } from 'mongodb'

import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import { openModel } from './model.ts'

const NUMBER: OptionRule = {
  expected: 'a number',
  isValid: (value) => typeof value === 'number' && !Number.isNaN(value),
}

/** What an index of the option `indexes` may have. The driver leaves out names that it does not know. */
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

/** Returns whether a value can be the option `indexes`, but for what {@link INDEX_RULES} checks. */
export function isIndexList(value: unknown): value is readonly IndexDescription[] {
  return (
    Array.isArray(value) &&
    value.every((index) => isPlainObject(index) && index['key'] !== undefined)
  )
}

/**
 * Creates the indexes of a service that are not there yet, one command for each, so that the error
 * can name it. Without its unique index a service would take what it must refuse.
 * @throws {Error} names the service and the index; the `cause` says why
 */
export async function createIndexes(path: string, settings: MongoDBSettings): Promise<void> {
  for (const index of settings.indexes) {
    try {
      const collection = await openModel(settings.Model)
      // The driver writes into what it gets.
      await collection.createIndexes([{ ...index }])
    } catch (cause) {
      throw new Error(`The index ${toIndexName(index)} of '${path}' can not be created`, { cause })
    }
  }
}

/** Returns the name that the driver makes up for an index without one. */
function toIndexName({ name, key }: IndexDescription): string {
  return name ?? [...(key instanceof Map ? key : Object.entries(key))].flat().join('_')
}

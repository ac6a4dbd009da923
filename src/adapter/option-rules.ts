import type { OptionRule } from '../core/options/option-check.ts'
import { OPTION } from '../core/options/option-check.ts'
import { isPlainObject } from '../core/value-kind.ts'
import { READ_CONCERN, READ_PREFERENCE, WRITE_CONCERN } from './connection/concern-rules.ts'
import { INDEX_RULES, isIndexList } from './connection/create-indexes.ts'
import { isModel, MODEL_EXPECTED } from './connection/model.ts'
import { isFieldPath, withoutPositions } from './field-path.ts'
import type { MongoDBSettings, QueryLimits } from './mongodb-options.ts'
import { UPDATE_OPERATORS } from './update-operators.ts'

/** One option of the service: what it may be, and what it is when it is not given. */
interface OptionRow<Value> extends OptionRule {
  /** `undefined` for an option that must be given. */
  readonly default: Value | undefined
  /** Whether `params.adapter` can not change it for one call. */
  readonly isFixed?: true
}

/** The limits of a service that sets none. */
export const DEFAULT_LIMITS: QueryLimits = {
  depth: 10,
  conditions: 150,
  values: 10_000,
  skip: 1_000_000,
  patternLength: 128,
  records: 1_000,
  timeMs: 5_000,
}

const BOUND: OptionRule = {
  expected: `${OPTION.count.expected}, or Infinity`,
  isValid: (value) => OPTION.count.isValid(value) || value === Number.POSITIVE_INFINITY,
}

/** The server reads 0 as no limit, and takes 32 bits. */
const DURATION: OptionRule = {
  expected: `a whole number of milliseconds from 1 to ${2 ** 31 - 1}, or Infinity`,
  isValid: (value) =>
    value === Number.POSITIVE_INFINITY ||
    (OPTION.count.isValid(value) && Number(value) >= 1 && Number(value) < 2 ** 31),
}

const SWITCH: OptionRow<boolean> = { ...OPTION.boolean, default: false }

/** All options of the service, each of them in one place. */
export const OPTION_RULES: {
  readonly [Name in keyof MongoDBSettings]-?: OptionRow<MongoDBSettings[Name]>
} = {
  Model: {
    default: undefined,
    expected: MODEL_EXPECTED,
    isValid: isModel,
  },
  id: {
    default: '_id',
    expected: 'the name of a field',
    isValid: (value) => isFieldPath(value) && !value.includes('.'),
  },
  paginate: {
    default: false,
    expected: 'false or { default, max }, as { default: 10, max: 100 } is',
    isValid: (value) => value === false || isPlainObject(value),
    keys: { default: OPTION.count, max: OPTION.count },
  },
  multi: {
    default: false,
    expected: "true, false, or a list of 'create', 'patch' and 'remove'",
    isValid: (value) => typeof value === 'boolean' || isListOf(value, isMultiMethod),
  },
  operators: {
    default: [],
    expected: 'a list of operators, with $',
    isValid: (value) => isListOf(value, isOperator),
  },
  filters: {
    default: {},
    expected: 'an object of names with $, and true or a function for each',
    isValid: (value) =>
      isPlainObject(value) &&
      Object.entries(value).every(
        ([name, filter]) => isOperator(name) && (filter === true || typeof filter === 'function'),
      ),
  },
  updateOperators: {
    default: [],
    expected: `a list of dotted paths and of ${[...UPDATE_OPERATORS.keys()].join(' ')}`,
    isValid: (value) => isListOf(value, isUpdateName),
  },
  hidden: {
    default: [],
    expected: 'a list of field paths, without the id and without places in lists',
    isValid: (value) => isListOf(value, isHideable),
  },
  allowClientId: SWITCH,
  allowEmptyFilter: SWITCH,
  disableObjectify: SWITCH,
  useEstimatedDocumentCount: SWITCH,
  limits: {
    default: DEFAULT_LIMITS,
    expected: 'an object of numbers',
    isValid: isPlainObject,
    keys: {
      depth: BOUND,
      conditions: BOUND,
      values: BOUND,
      skip: BOUND,
      patternLength: BOUND,
      records: BOUND,
      timeMs: DURATION,
    },
  },
  indexes: {
    default: [],
    expected: 'a list of indexes, { key, unique, … }',
    isValid: isIndexList,
    keys: INDEX_RULES,
    isFixed: true,
  },
  shardKey: {
    default: [],
    expected: 'a list of field paths that are not hidden, without places in lists',
    isValid: (value) => isListOf(value, isPlainPath),
  },
  readPreference: { ...READ_PREFERENCE, default: undefined },
  readConcern: { ...READ_CONCERN, default: undefined },
  writeConcern: { ...WRITE_CONCERN, default: undefined },
  events: { ...OPTION.stringList, default: [], isFixed: true },
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem)
}

function isMultiMethod(name: unknown): boolean {
  return ['create', 'patch', 'remove'].includes(name as string)
}

function isOperator(name: unknown): boolean {
  return typeof name === 'string' && /^\$[^$.]+$/.test(name)
}

function isUpdateName(name: unknown): boolean {
  if (typeof name !== 'string') return false
  return UPDATE_OPERATORS.has(name) || (!name.startsWith('$') && name.includes('.'))
}

/** Paths are compared without places in lists, so that a hidden `tags.0` would match nothing. */
function isHideable(path: unknown): boolean {
  return path !== '_id' && isPlainPath(path)
}

function isPlainPath(path: unknown): boolean {
  return isFieldPath(path) && withoutPositions(path) === path
}

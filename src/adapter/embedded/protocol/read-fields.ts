import type { Document } from 'bson'
import { isDocument, isNullish, isNumeric, typeNameOf } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import { isTrue } from '../../matching/compare.ts'

/**
 * What a field may hold. A field of type `refused` exists in MongoDB but is not supported here: it may only
 * be false or an empty object, which mean the same as no field. In a field of type `any`, null is a value; in
 * all others it means no field.
 */
export type FieldType = keyof Values

/** All fields of a command, a stage or an option, by name. */
export type FieldTypes = Readonly<Record<string, FieldType>>

interface Values {
  readonly string: string
  readonly bool: boolean
  readonly number: number
  readonly object: Document
  readonly array: unknown[]
  readonly any: unknown
  readonly refused: undefined
}

/** Returns a table of fields of the same type. */
export function fieldsOf<Type extends FieldType, Name extends string>(
  type: Type,
  ...names: Name[]
): Readonly<Record<Name, Type>> {
  return Object.fromEntries(names.map((name) => [name, type])) as Record<Name, Type>
}

/** Returns the table of fields that MongoDB has but this server does not support. */
export function refuse<Name extends string>(...names: Name[]): Readonly<Record<Name, 'refused'>> {
  return fieldsOf('refused', ...names)
}

/** The given fields. */
export type Fields<Types extends FieldTypes> = {
  readonly [Name in keyof Types]?: Values[Types[Name]] | undefined
}

/**
 * MongoDB's codes for a value that is not a document, and for its fields, if they differ from the usual ones.
 */
export interface FieldCodes {
  readonly value?: number
  readonly unknown?: number
  readonly refused?: number
}

const CHECKS: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  bool: (value) => typeof value === 'boolean' || isNumeric(value),
  number: isNumeric,
  object: isDocument,
  array: Array.isArray,
  any: () => true,
  refused: () => true,
}

/**
 * Returns the fields of a document, checked by a table.
 * @throws {CommandError} `value` (14) it is not a document, 14 a field has the wrong type
 * @throws {CommandError} `unknown` (40415) it has a field that is not in the table: nothing is ignored
 *   silently
 * @throws {CommandError} `refused` (72) it has a field that this server does not support
 */
export function readFields<Types extends FieldTypes>(
  name: string,
  value: unknown,
  types: Types,
  { value: wrong = 14, unknown = 40415, refused = 72 }: FieldCodes = {},
): Fields<Types> {
  if (!isDocument(value)) {
    throw new CommandError(wrong, `${name} must be an object, and is ${typeNameOf(value)}`)
  }
  const given: Document = {}
  for (const [field, one] of Object.entries(value)) {
    const type = Object.hasOwn(types, field) ? types[field] : undefined
    if (type === undefined) {
      throw new CommandError(unknown, `BSON field '${name}.${field}' is an unknown field.`)
    }
    checkField(`${name}.${field}`, one, type, refused)
    if (type === 'bool' && one !== null) given[field] = isTrue(one)
    else if (one !== null || type === 'any') given[field] = one
  }
  return given as Fields<Types>
}

/** Returns a field that is a count. @throws {CommandError} 2 it is not whole, 51024 below 0 */
export function readCount(name: string, value: unknown, fallback: number): number {
  if (value === undefined) return fallback
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  const code = Number(value) < 0 ? 51024 : 2
  throw new CommandError(code, `The ${name} must be a whole number of at least 0`)
}

const PATH_FAULTS: readonly (readonly [fault: RegExp, code: number, rule: string])[] = [
  [/^$/, 40352, 'be empty'],
  [/\.$/, 40353, "end with a '.'"],
  [/^\.|\.\./, 15998, 'hold an empty name'],
  [/(?:^|\.)\$/, 16410, "hold a name that starts with '$'"],
]

/** Returns the names in a dotted path. @throws {CommandError} one is empty or starts with `$` */
export function readPath(name: string, path: string): string[] {
  const fault = PATH_FAULTS.find(([pattern]) => pattern.test(path))
  if (fault === undefined) return path.split('.')
  const [, code, rule] = fault
  throw new CommandError(code, `The path '${path}' in ${name} must not ${rule}`)
}

function checkField(name: string, value: unknown, type: FieldType, refused: number): void {
  if (isNullish(value)) return
  if (type === 'refused') {
    const isEmpty = value === false || (isDocument(value) && Object.keys(value).length === 0)
    if (!isEmpty) throw notSupported(`The field '${name}'`, refused)
  } else if (!CHECKS[type](value)) {
    const message = `BSON field '${name}' is the wrong type '${typeNameOf(value)}', expected type '${type}'`
    throw new CommandError(14, message)
  }
}

/** The fields that every command may have. */
export const COMMON_FIELDS: FieldTypes = {
  ...fieldsOf('string', '$db', 'apiVersion'),
  ...fieldsOf('object', '$clusterTime', '$readPreference', 'lsid', 'readConcern', 'writeConcern'),
  ...fieldsOf('any', 'txnNumber', 'comment'),
  ...fieldsOf('bool', 'autocommit', 'startTransaction', 'apiDeprecationErrors'),
  maxTimeMS: 'number',
  apiStrict: 'refused',
}

const LEVELS = ['local', 'available', 'majority', 'linearizable', 'snapshot']

/** Checked, but without effect: the only member keeps everything in memory. */
const READ_CONCERN = { level: 'string', afterClusterTime: 'any', provenance: 'string' } as const
const WRITE_CONCERN = {
  w: 'any',
  j: 'bool',
  fsync: 'bool',
  wtimeout: 'number',
  provenance: 'string',
} as const

const READ_PREFERENCE = {
  mode: 'string',
  tags: 'array',
  maxStalenessSeconds: 'number',
  hedge: 'object',
} as const

const MODES = ['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest']

/** @throws {CommandError} a field that every command may have is not valid */
export function checkCommonFields(command: Document): void {
  const { apiVersion, maxTimeMS: limit, readConcern, writeConcern } = command
  if (apiVersion !== undefined && apiVersion !== '1') {
    throw new CommandError(322, `Provided apiVersion '${apiVersion}' is not '1'`)
  }
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0 && limit < 2 ** 31)) {
    throw new CommandError(2, `${limit} is out of range for maxTimeMS`)
  }
  const { mode } = readFields('$readPreference', command.$readPreference ?? {}, READ_PREFERENCE)
  if (mode !== undefined && !MODES.includes(mode)) {
    throw new CommandError(9, `'$readPreference.mode' must be one of ${MODES.join(', ')}`)
  }
  const { level } = readFields('readConcern', readConcern ?? {}, READ_CONCERN, { unknown: 72 })
  if (level !== undefined && !LEVELS.includes(level)) {
    throw new CommandError(9, `'readConcern.level' must be one of ${LEVELS.join(', ')}`)
  }
  const { w } = readFields('writeConcern', writeConcern ?? {}, WRITE_CONCERN, { unknown: 9 })
  const isCount = typeof w === 'number' && Number.isInteger(w) && w >= 0 && w <= 50
  if (typeof w === 'string' && w !== 'majority') {
    throw new CommandError(79, `No write concern mode named '${w}' found`)
  }
  if (w !== undefined && w !== 'majority' && !isCount) {
    throw new CommandError(9, 'w has to be a number of at most 50, or a string')
  }
}

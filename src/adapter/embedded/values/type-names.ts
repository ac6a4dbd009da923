import { Binary } from 'bson'
import { bsonTagOf, isNumeric } from './compare.ts'
import { CommandError } from '../errors/command-error.ts'

const MAX_INT32 = 2 ** 31 - 1

/** BSON's type numbers, for `$type`. */
const NAMES_BY_NUMBER: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [-1, 'minKey'],
  [1, 'double'],
  [2, 'string'],
  [3, 'object'],
  [4, 'array'],
  [5, 'binData'],
  [6, 'undefined'],
  [7, 'objectId'],
  [8, 'bool'],
  [9, 'date'],
  [10, 'null'],
  [11, 'regex'],
  [13, 'javascript'],
  [14, 'symbol'],
  [16, 'int'],
  [17, 'timestamp'],
  [18, 'long'],
  [19, 'decimal'],
  [127, 'maxKey'],
])

const TYPE_NAMES: ReadonlySet<unknown> = new Set([...NAMES_BY_NUMBER.values(), 'number'])

const NAMES_BY_TAG: Readonly<Record<string, string>> = {
  Binary: 'binData',
  BSONRegExp: 'regex',
  BSONSymbol: 'symbol',
  Code: 'javascript',
  Decimal128: 'decimal',
  Long: 'long',
  MaxKey: 'maxKey',
  MinKey: 'minKey',
  ObjectId: 'objectId',
  Timestamp: 'timestamp',
}

/** Returns the name MongoDB gives to a value's type; whole numbers of 32 bits are `int`. */
export function typeNameOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (typeof value === 'number') {
    return Number.isInteger(value) && Math.abs(value) <= MAX_INT32 ? 'int' : 'double'
  }
  if (typeof value === 'boolean') return 'bool'
  if (typeof value !== 'object') return typeof value
  if (Array.isArray(value)) return 'array'
  if (value instanceof Date) return 'date'
  if (value instanceof RegExp) return 'regex'
  return NAMES_BY_TAG[bsonTagOf(value) ?? ''] ?? (value instanceof Binary ? 'binData' : 'object')
}

/** Returns the test of a filter's `$type`. @throws {CommandError} a type is not known */
export function toTypeTest(operand: unknown): (value: unknown) => boolean {
  const names = new Set(
    (Array.isArray(operand) ? operand : [operand]).map((type) => {
      const name = NAMES_BY_NUMBER.get(type) ?? type
      if (!TYPE_NAMES.has(name))
        throw new CommandError(2, `Unknown type name alias: ${String(type)}`)
      return name
    }),
  )
  if (names.size === 0) throw new CommandError(9, '$type must match at least one type')
  return (value) => names.has(typeNameOf(value)) || (names.has('number') && isNumeric(value))
}

import { Binary, calculateObjectSize, Decimal128, Long, ObjectId } from 'bson'
import { CommandError, notSupported } from '../../errors/command-error.ts'
import { isDocument, isNullish, isNumeric } from '../../values/bson-type.ts'
import { MAX_INT32 } from '../../values/numbers.ts'
import { isTrue } from '../../values/truth.ts'
import { typeNameOf } from '../../values/type-names.ts'
import { checkString } from './argument-checks.ts'
import { conversionFailed } from './conversion-error.ts'
import { dateOf, parseDate } from './date-values.ts'
import type { Compile, Evaluate, Operator, Operators, Scope } from './operator.ts'
import { orNull, positional } from './operator.ts'
import { toMongoString } from './string-values.ts'

const INTEGER = /^[+-]?\d+$/
const REAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

type Convert = (value: unknown) => unknown

/** Conversions by the name and the number of the type they convert to. */
const CONVERSIONS: readonly (readonly [name: string, number: number, convert: Convert])[] = [
  ['double', 1, toDouble],
  ['string', 2, (value) => toMongoString(value)],
  ['objectId', 7, toObjectId],
  ['bool', 8, (value) => typeof value === 'string' || isTrue(value)],
  ['date', 9, toDate],
  ['int', 16, toInt],
  ['long', 18, toLong],
]

/** Operators on the types of values. */
export const TYPES: Operators = {
  $convert: { names: ['input', 'to', 'onError?', 'onNull?'], build: buildConvert },
  ...Object.fromEntries(
    CONVERSIONS.map(([name, , convert]): [string, Operator] => [
      `$to${name.charAt(0).toUpperCase()}${name.slice(1)}`,
      orNull(positional(1, 1, ([value]) => convert(value))),
    ]),
  ),
  $dateFromString: { names: ['dateString', 'onError?', 'onNull?'], build: buildDateFromString },
  $type: positional(1, 1, ([value]) => typeNameOf(value)),
  $isNumber: positional(1, 1, ([value]) => isNumeric(value)),
  $bsonSize: orNull(
    positional(1, 1, ([value]) => {
      if (isDocument(value)) return calculateObjectSize(value)
      throw new CommandError(31393, `$bsonSize requires a document, not ${typeNameOf(value)}`)
    }),
  ),
  $binarySize: orNull(
    positional(1, 1, ([value]) =>
      value instanceof Binary
        ? value.length()
        : Buffer.byteLength(checkString('$binarySize', value, 51276)),
    ),
  ),
}

function buildConvert(operands: readonly unknown[], scope: Scope, compile: Compile): Evaluate {
  const [input, to, onError, onNull = null] = operands
  const type = compile(to, scope)
  return attempt([input, onError, onNull], scope, compile, (value, root, bindings) => {
    const wanted = type(root, bindings)
    if (isNullish(wanted)) return null
    const found = CONVERSIONS.find(([name, number]) => name === wanted || number === wanted)
    if (found === undefined) throw notSupported(`$convert to ${String(wanted)}`)
    return found[2](value)
  })
}

function buildDateFromString(
  [input, onError, onNull = null]: readonly unknown[],
  scope: Scope,
  compile: Compile,
): Evaluate {
  return attempt([input, onError, onNull], scope, compile, (value) =>
    parseDate(checkString("$dateFromString's dateString", value, 241)),
  )
}

/** Returns a conversion of `input` with `onNull` for null and `onError` where it fails. */
function attempt(
  [input, onError, onNull]: readonly unknown[],
  scope: Scope,
  compile: Compile,
  convert: (value: unknown, ...rest: Parameters<Evaluate>) => unknown,
): Evaluate {
  const read = compile(input, scope)
  const otherwise = onError === undefined ? undefined : compile(onError, scope)
  const ifNull = compile(onNull, scope)
  return (root, bindings) => {
    const value = read(root, bindings)
    if (isNullish(value)) return ifNull(root, bindings)
    try {
      return convert(value, root, bindings)
    } catch (error) {
      const isFailure = error instanceof CommandError && error.code === 241
      if (!isFailure || otherwise === undefined) throw error
      return otherwise(root, bindings)
    }
  }
}

function toDouble(value: unknown): unknown {
  if (typeof value === 'string' && REAL.test(value)) return Number(value)
  if (typeof value === 'number' || typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.getTime()
  if (value instanceof Long || value instanceof Decimal128) return Number(value.toString())
  throw conversionFailed(value, 'double')
}

function toInt(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  const whole = value instanceof Date ? undefined : readWhole(value)
  if (whole === undefined || Math.abs(Number(whole)) > MAX_INT32) {
    throw conversionFailed(value, 'int')
  }
  return Number(whole)
}

function toLong(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value)
  if (value instanceof Date) return value.getTime()
  const whole = readWhole(value)
  if (whole === undefined || BigInt.asIntN(64, whole) !== whole) {
    throw conversionFailed(value, 'long')
  }
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : Long.fromBigInt(whole)
}

function readWhole(value: unknown): bigint | undefined {
  if (value instanceof Decimal128) throw notSupported('Converting a Decimal128 to a whole number')
  if (value instanceof Long) return value.toBigInt()
  if (typeof value === 'number' && Number.isFinite(value)) return BigInt(Math.trunc(value))
  return typeof value === 'string' && INTEGER.test(value)
    ? BigInt(value.replace('+', ''))
    : undefined
}

function toDate(value: unknown): unknown {
  const date = dateOf(value)
  if (date !== undefined) return date
  if (typeof value === 'string') return parseDate(value)
  if (value instanceof Decimal128) throw notSupported('Converting a Decimal128 to a date')
  // MongoDB converts longs and doubles to dates, but not ints.
  const isTime = isNumeric(value) && typeNameOf(value) !== 'int' && Number.isFinite(Number(value))
  if (isTime) return new Date(Math.trunc(Number(value)))
  throw conversionFailed(value, 'date')
}

function toObjectId(value: unknown): unknown {
  if (value instanceof ObjectId) return value
  if (typeof value === 'string' && /^[0-9a-f]{24}$/i.test(value)) return new ObjectId(value)
  throw conversionFailed(value, 'objectId')
}

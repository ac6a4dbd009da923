import { isNullish, typeNameOf } from '../../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../../matching/command-error.ts'
import { dateOf, padNumber } from './conversions.ts'
import type { Operator, Operators } from './operator.ts'
import { checkString, named } from './operator.ts'

const MS_PER_DAY = 86_400_000
const MS_PER_MINUTE = 60_000
/** A time zone by offset: named zones need historical tables. */
const OFFSET = /^([+-])(\d{2})(?::?(\d{2}))?$/

type Part = (local: Date) => number

/**
 * The parts of a date, read from one whose UTC fields hold the local time, each with its format specifier and
 * number of digits.
 */
const PARTS: Readonly<Record<string, readonly [letter: string, digits: number, read: Part]>> = {
  year: ['Y', 4, (local) => local.getUTCFullYear()],
  month: ['m', 2, (local) => local.getUTCMonth() + 1],
  dayOfMonth: ['d', 2, (local) => local.getUTCDate()],
  hour: ['H', 2, (local) => local.getUTCHours()],
  minute: ['M', 2, (local) => local.getUTCMinutes()],
  second: ['S', 2, (local) => local.getUTCSeconds()],
  millisecond: ['L', 3, (local) => local.getUTCMilliseconds()],
  dayOfYear: ['j', 3, (local) => 1 + (+local - new Date(local).setUTCMonth(0, 1)) / MS_PER_DAY],
  dayOfWeek: ['w', 1, (local) => local.getUTCDay() + 1],
}

/** Operators on dates; each returns null if the date is null or missing. */
export const DATES: Operators = {
  ...Object.fromEntries(
    Object.entries(PARTS).map(([name, [, , part]]): [string, Operator] => [
      `$${name}`,
      {
        ...named(['date', 'timezone?'], ([date, zone = 'UTC']) =>
          isNullish(date) || zone === null ? null : part(toLocal(date, readOffset(zone))),
        ),
        count: [1, 1],
      },
    ]),
  ),
  $dateToString: named(['date', 'format?', 'timezone?', 'onNull?'], formatDate),
}

/** Converts a date, an ObjectId or a timestamp to a date whose UTC fields hold the local time. */
function toLocal(value: unknown, offset: number): Date {
  const date = dateOf(value)
  if (date !== undefined) return new Date(date.getTime() + offset * MS_PER_MINUTE)
  throw new CommandError(16006, `can't convert from BSON type ${typeNameOf(value)} to Date`)
}

function formatDate([date, format, timezone = 'UTC', onNull]: readonly unknown[]): unknown {
  if (format === null || timezone === null) return null
  if (isNullish(date)) return onNull === undefined ? null : onNull
  const offset = readOffset(timezone)
  const local = toLocal(date, offset)
  const isUtc = timezone === 'UTC' || (offset === 0 && OFFSET.test(String(timezone)))
  const fallback = `%Y-%m-%dT%H:%M:%S.%L${isUtc ? 'Z' : ''}`
  return checkString("$dateToString's format", format ?? fallback, 18533).replace(
    /%(.?)/gs,
    (_text, letter: string) => {
      if (letter === '%') return '%'
      if (letter === 'z') return writeOffset(offset)
      const part = Object.values(PARTS).find(([specifier]) => specifier === letter)
      if (part !== undefined) return padNumber(part[2](local), part[1])
      if (letter === '') throw new CommandError(18535, "the format string ends with a '%'")
      throw notSupported(`Invalid format character '%${letter}' in format string: it`, 18536)
    },
  )
}

/** Returns how many minutes a zone is ahead of UTC. @throws {CommandError} 40485 it has a name */
function readOffset(zone: unknown): number {
  if (typeof zone !== 'string') throw new CommandError(40517, 'timezone must be a string')
  if (zone === 'UTC' || zone === 'GMT' || zone === 'Z') return 0
  const offset = OFFSET.exec(zone)
  if (offset === null) throw notSupported(`The time zone '${zone}'`, 40485)
  const minutes = Number(offset[2]) * 60 + Number(offset[3] ?? 0)
  return offset[1] === '-' ? -minutes : minutes
}

function writeOffset(minutes: number): string {
  const hours = Math.trunc(Math.abs(minutes) / 60)
  return `${minutes < 0 ? '-' : '+'}${padNumber(hours * 100 + Math.abs(minutes % 60), 4)}`
}

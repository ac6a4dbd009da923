import { CommandError, notSupported } from '../../errors.ts'
import { isNullish, typeNameOf } from '../../values/bson-type.ts'
import { dateOf } from './conversions.ts'
import type { Operator, Operators } from './operator.ts'
import { checkString, named } from './operator.ts'

const MS_PER_DAY = 86_400_000
const MS_PER_MINUTE = 60_000
/** A zone by its offset: those that have a name need tables of the past. */
const OFFSET = /^([+-])(\d{2})(?::?(\d{2}))?$/

type Part = (local: Date) => number

/** The parts of a date, read from one whose UTC fields show the local time. */
const PARTS = {
  year: (local) => local.getUTCFullYear(),
  month: (local) => local.getUTCMonth() + 1,
  dayOfMonth: (local) => local.getUTCDate(),
  hour: (local) => local.getUTCHours(),
  minute: (local) => local.getUTCMinutes(),
  second: (local) => local.getUTCSeconds(),
  millisecond: (local) => local.getUTCMilliseconds(),
  dayOfYear: (local) => daysSince(local, Date.UTC(local.getUTCFullYear(), 0, 1)) + 1,
  dayOfWeek: (local) => local.getUTCDay() + 1,
} satisfies Readonly<Record<string, Part>>

/** Operators on dates; each is null where the date is null or missing. */
export const DATES: Operators = {
  ...Object.fromEntries(
    Object.entries(PARTS).map(([name, part]): [string, Operator] => [
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

/** Returns a date, or that of an ObjectId or a timestamp, whose UTC fields are those of a clock there. */
function toLocal(value: unknown, offset: number): Date {
  const date = dateOf(value)
  if (date !== undefined) return new Date(date.getTime() + offset * MS_PER_MINUTE)
  throw new CommandError(16006, `can't convert from BSON type ${typeNameOf(value)} to Date`)
}

function daysSince(local: Date, start: number): number {
  return Math.floor((local.getTime() - start) / MS_PER_DAY)
}

/** The specifiers of a format: the part of the date and how many digits it has. */
const FORMATS: Readonly<Record<string, readonly [Part, number]>> = {
  Y: [PARTS.year, 4],
  m: [PARTS.month, 2],
  d: [PARTS.dayOfMonth, 2],
  H: [PARTS.hour, 2],
  M: [PARTS.minute, 2],
  S: [PARTS.second, 2],
  L: [PARTS.millisecond, 3],
  j: [PARTS.dayOfYear, 3],
}

function formatDate([date, format, timezone = 'UTC', onNull]: readonly unknown[]): unknown {
  if (format === null || timezone === null) return null
  if (isNullish(date)) return onNull === undefined ? null : onNull
  const offset = readOffset(timezone)
  const local = toLocal(date, offset)
  const fallback = `%Y-%m-%dT%H:%M:%S.%L${timezone === 'UTC' ? 'Z' : ''}`
  return checkString("$dateToString's format", format ?? fallback, 18533).replace(
    /%(.?)/gs,
    (_text, letter: string) => {
      if (letter === '%') return '%'
      if (letter === 'z') return writeOffset(offset)
      const [part, digits] = FORMATS[letter] ?? []
      if (part !== undefined && digits !== undefined) {
        return String(part(local)).padStart(digits, '0')
      }
      const message = `Invalid format character '%${letter}' in format string: it is not supported by the embedded server`
      throw new CommandError(18536, message)
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
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const digits = [hours, rest].map((part) => String(part).padStart(2, '0')).join('')
  return `${minutes < 0 ? '-' : '+'}${digits}`
}

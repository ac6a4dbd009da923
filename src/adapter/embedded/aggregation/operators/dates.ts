import { CommandError, notSupported } from '../../errors/command-error.ts'
import { isNullish } from '../../values/bson-type.ts'
import { typeNameOf } from '../../values/type-names.ts'
import { checkInteger, checkString } from './argument-checks.ts'
import { dateOf } from './date-values.ts'
import type { Operator, Operators } from './operator.ts'
import { named } from './operator.ts'
import { fromLocal, readZone, toLocal } from './time-zone.ts'

const MS_PER_DAY = 86_400_000
const UNITS = ['year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second', 'millisecond']
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
/** The units that always have the same length, in ms. */
const LENGTHS: Readonly<Record<string, number>> = {
  week: 7 * MS_PER_DAY,
  day: MS_PER_DAY,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
  millisecond: 1,
}

type Part = (local: Date) => number
type PartName =
  | 'year'
  | 'month'
  | 'dayOfMonth'
  | 'hour'
  | 'minute'
  | 'second'
  | 'millisecond'
  | 'dayOfYear'
  | 'dayOfWeek'
  | 'week'
  | 'isoDayOfWeek'
  | 'isoWeek'
  | 'isoWeekYear'

/** The parts of a date, read from one whose UTC fields show the local time. */
const PARTS: Readonly<Record<PartName, Part>> = {
  year: (local) => local.getUTCFullYear(),
  month: (local) => local.getUTCMonth() + 1,
  dayOfMonth: (local) => local.getUTCDate(),
  hour: (local) => local.getUTCHours(),
  minute: (local) => local.getUTCMinutes(),
  second: (local) => local.getUTCSeconds(),
  millisecond: (local) => local.getUTCMilliseconds(),
  dayOfYear: (local) => daysSince(local, Date.UTC(local.getUTCFullYear(), 0, 1)) + 1,
  dayOfWeek: (local) => local.getUTCDay() + 1,
  week: (local) => Math.floor((PARTS.dayOfYear(local) + 6 - local.getUTCDay()) / 7),
  isoDayOfWeek: (local) => local.getUTCDay() || 7,
  isoWeek: (local) => Math.floor((PARTS.dayOfYear(thursdayOf(local)) - 1) / 7) + 1,
  isoWeekYear: (local) => thursdayOf(local).getUTCFullYear(),
}

/** Operators on dates; each is null where the date is null or missing. */
export const DATES: Operators = {
  ...Object.fromEntries(
    Object.entries(PARTS).map(([name, part]): [string, Operator] => [
      `$${name}`,
      {
        ...named(['date', 'timezone?'], ([date, zone = 'UTC']) =>
          isNullish(date) || zone === null ? null : part(toLocal(toDate(date), readZone(zone))),
        ),
        count: [1, 1],
      },
    ]),
  ),
  $dateToParts: named(['date', 'timezone?', 'iso8601?'], toParts),
  $dateToString: named(['date', 'format?', 'timezone?', 'onNull?'], formatDate),
  $dateFromParts: named(
    ['year', 'month?', 'day?', 'hour?', 'minute?', 'second?', 'millisecond?', 'timezone?'],
    fromParts,
  ),
  $dateDiff: named(['startDate', 'endDate', 'unit', 'timezone?', 'startOfWeek?'], difference),
  $dateTrunc: named(['date', 'unit', 'timezone?', 'startOfWeek?'], truncate),
}

function toDate(value: unknown): Date {
  const date = dateOf(value)
  if (date !== undefined) return date
  throw new CommandError(16006, `can't convert from BSON type ${typeNameOf(value)} to Date`)
}

function daysSince(local: Date, start: number): number {
  return Math.floor((local.getTime() - start) / MS_PER_DAY)
}

/** The week of ISO 8601 belongs to the year of its Thursday. */
function thursdayOf(local: Date): Date {
  return new Date(local.getTime() + (4 - PARTS.isoDayOfWeek(local)) * MS_PER_DAY)
}

function toParts([date, timezone = 'UTC', iso = false]: readonly unknown[]): unknown {
  if (isNullish(date) || timezone === null || iso === null) return null
  if (typeof iso !== 'boolean')
    throw new CommandError(40521, "$dateToParts: 'iso8601' must be a bool")
  const local = toLocal(toDate(date), readZone(timezone))
  const days = iso
    ? (['isoWeekYear', 'isoWeek', 'isoDayOfWeek'] as const)
    : (['year', 'month', 'dayOfMonth'] as const)
  const names = [...days, 'hour', 'minute', 'second', 'millisecond'] as const
  return Object.fromEntries(
    names.map((name) => [name === 'dayOfMonth' ? 'day' : name, PARTS[name](local)]),
  )
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
  w: [PARTS.dayOfWeek, 1],
  u: [PARTS.isoDayOfWeek, 1],
  U: [PARTS.week, 2],
  V: [PARTS.isoWeek, 2],
  G: [PARTS.isoWeekYear, 4],
}

function formatDate([date, format, timezone = 'UTC', onNull]: readonly unknown[]): unknown {
  if (format === null || timezone === null) return null
  if (isNullish(date)) return onNull === undefined ? null : onNull
  const zone = readZone(timezone)
  const moment = toDate(date)
  const local = toLocal(moment, zone)
  const fallback = `%Y-%m-%dT%H:%M:%S.%L${timezone === 'UTC' ? 'Z' : ''}`
  return checkString("$dateToString's format", format ?? fallback, 18533).replace(
    /%(.?)/gs,
    (_text, letter: string) => {
      if (letter === '%') return '%'
      if (letter === 'z') return toOffset(zone(moment.getTime()))
      const [part, digits] = FORMATS[letter] ?? []
      if (part !== undefined && digits !== undefined) {
        return String(part(local)).padStart(digits, '0')
      }
      throw new CommandError(18536, `Invalid format character '%${letter}' in format string`)
    },
  )
}

function toOffset(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const digits = [hours, rest].map((part) => String(part).padStart(2, '0')).join('')
  return `${minutes < 0 ? '-' : '+'}${digits}`
}

function fromParts(values: readonly unknown[]): unknown {
  const defaults = [undefined, 1, 1, 0, 0, 0, 0, 'UTC']
  const given = values.map((value, at) => value ?? (value === null ? null : defaults[at]))
  if (given.some(isNullish)) return null
  const numbers = given.slice(0, -1).map((value) => checkInteger('$dateFromParts', value, 40515))
  const [year = 0, month = 1, day = 1, ...time] = numbers
  if (year < 1 || year > 9999) throw new CommandError(40523, "'year' must be from 1 to 9999")
  if (numbers.some((value) => Math.abs(value) > 32_767)) {
    throw notSupported('$dateFromParts with a part beyond 32767')
  }
  // `Date.UTC` would take the years below 100 for those of the last century.
  const start = new Date(0).setUTCFullYear(year, month - 1, day)
  const [hour = 0, minute = 0, second = 0, millisecond = 0] = time
  const clock = ((hour * 60 + minute) * 60 + second) * 1000 + millisecond
  return fromLocal(start + clock, readZone(given.at(-1)))
}

function difference(values: readonly unknown[]): unknown {
  const [start, end, unit, timezone = 'UTC', startOfWeek = 'sunday'] = values
  if ([start, end, unit, timezone].some(isNullish)) return null
  const name = checkUnit('$dateDiff', unit, timezone)
  const zone = readZone(timezone)
  const count = (value: unknown): number => countOf(toLocal(toDate(value), zone), name, startOfWeek)
  return count(end) - count(start)
}

/** Returns how many boundaries of a unit lie between a fixed moment and a date. */
function countOf(local: Date, unit: string, startOfWeek: unknown): number {
  const months = local.getUTCFullYear() * 12 + local.getUTCMonth()
  if (unit === 'year') return Math.floor(months / 12)
  if (unit === 'quarter') return Math.floor(months / 3)
  if (unit === 'month') return months
  return Math.floor((local.getTime() + weekShift(unit, startOfWeek)) / (LENGTHS[unit] ?? 1))
}

/** Returns how far weeks are shifted, in ms: the epoch's first day was a Thursday. */
function weekShift(unit: string, startOfWeek: unknown): number {
  return unit === 'week' ? (4 - readWeekday(startOfWeek)) * MS_PER_DAY : 0
}

function truncate(values: readonly unknown[]): unknown {
  const [date, unit, timezone = 'UTC', startOfWeek = 'sunday'] = values
  if ([date, unit, timezone].some(isNullish)) return null
  const name = checkUnit('$dateTrunc', unit, timezone)
  const zone = readZone(timezone)
  const moment = toDate(date)
  const count = countOf(toLocal(moment, zone), name, startOfWeek)
  const months = { year: 12, quarter: 3, month: 1 }[name]
  if (months !== undefined) {
    return fromLocal(new Date(0).setUTCFullYear(0, count * months, 1), zone)
  }
  return fromLocal(count * (LENGTHS[name] ?? 1) - weekShift(name, startOfWeek), zone)
}

function checkUnit(name: string, unit: unknown, timezone: unknown): string {
  if (typeof unit !== 'string' || !UNITS.includes(unit)) {
    throw new CommandError(9, `${name} found an unknown unit: ${String(unit)}`)
  }
  // Where the clock changes, an hour comes twice or not at all.
  if (timezone !== 'UTC' && (LENGTHS[unit] ?? MS_PER_DAY) < MS_PER_DAY) {
    throw notSupported(`${name} in ${unit}s with a time zone`)
  }
  return unit
}

function readWeekday(name: unknown): number {
  const day = WEEKDAYS.findIndex((one) => one === name || one.slice(0, 3) === name)
  if (day >= 0) return day
  throw new CommandError(9, `unknown day of week value: ${String(name)}`)
}

import { CommandError } from '../../errors.ts'
import { isNullish, typeNameOf } from '../../values/bson-type.ts'
import { dateOf } from './conversions.ts'
import type { Operator, Operators } from './operator.ts'
import { checkString, named } from './operator.ts'

const MS_PER_DAY = 86_400_000

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
          isNullish(date) || zone === null ? null : part(toLocal(toDate(date), readZone(zone))),
        ),
        count: [1, 1],
      },
    ]),
  ),
  $dateToString: named(['date', 'format?', 'timezone?', 'onNull?'], formatDate),
}

function toDate(value: unknown): Date {
  const date = dateOf(value)
  if (date !== undefined) return date
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
      const message = `Invalid format character '%${letter}' in format string: it is not supported by the embedded server`
      throw new CommandError(18536, message)
    },
  )
}

function toOffset(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const digits = [hours, rest].map((part) => String(part).padStart(2, '0')).join('')
  return `${minutes < 0 ? '-' : '+'}${digits}`
}

const MS_PER_MINUTE = 60_000
const FIXED = /^([+-])(\d{2})(?::?(\d{2}))?$/
const MAX_FORMATS = 100

/** Returns how many minutes a zone is ahead of UTC at a moment, in ms since the epoch. */
export type Zone = (time: number) => number

/** Returns a zone by its name or its offset. @throws {CommandError} 40485 there is none */
export function readZone(name: unknown): Zone {
  if (typeof name !== 'string') throw new CommandError(40517, 'timezone must be a string')
  if (name === 'UTC' || name === 'GMT' || name === 'Z') return () => 0
  const fixed = FIXED.exec(name)
  if (fixed === null) return toZone(name)
  const minutes = Number(fixed[2]) * 60 + Number(fixed[3] ?? 0)
  return () => (fixed[1] === '-' ? -minutes : minutes)
}

/** Returns a date whose UTC fields are those of a clock in the zone. */
export function toLocal(date: Date, zone: Zone): Date {
  return new Date(date.getTime() + zone(date.getTime()) * MS_PER_MINUTE)
}

/**
 * Formats by the names of their zones, for the whole process: to make one is slow. Only so many are
 * kept, as the names come from clients.
 */
const formats: Map<string, Intl.DateTimeFormat> = new Map()

function toZone(name: string): Zone {
  const format = formats.get(name) ?? createFormat(name)
  if (formats.size >= MAX_FORMATS) formats.clear()
  formats.set(name, format)
  return (time) => {
    const parts = new Map(
      format.formatToParts(time).map(({ type, value }) => [type, Number(value)]),
    )
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0
    const local = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    )
    return Math.round((local - Math.floor(time / 1000) * 1000) / MS_PER_MINUTE)
  }
}

function createFormat(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch (error) {
    const message = `unrecognized time zone identifier: "${timeZone}"`
    throw new CommandError(40485, message, {}, { cause: error })
  }
}

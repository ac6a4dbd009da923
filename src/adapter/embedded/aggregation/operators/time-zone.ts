import { CommandError } from '../../errors/command-error.ts'

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

/** Returns the moment at which a clock in the zone shows these UTC fields. */
export function fromLocal(local: number, zone: Zone): Date {
  const guess = local - zone(local) * MS_PER_MINUTE
  return new Date(local - zone(guess) * MS_PER_MINUTE)
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

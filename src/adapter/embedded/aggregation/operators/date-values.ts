import { ObjectId, Timestamp } from 'bson'
import { notSupported } from '../../errors/command-error.ts'
import { conversionFailed } from './conversion-error.ts'

const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?\s*(?:Z|([+-])(\d{2}):?(\d{2})?)?)?$/

/** Returns the date in a value of BSON's types that hold one, `undefined` for all others. */
export function dateOf(value: unknown): Date | undefined {
  if (value instanceof Date) return value
  if (value instanceof ObjectId) return value.getTimestamp()
  return value instanceof Timestamp ? new Date(value.t * 1000) : undefined
}

/** Returns a date from ISO 8601, in UTC where no offset is given. @throws {CommandError} 241 */
export function parseDate(text: string): Date {
  const parts = DATE.exec(text)
  if (parts === null) {
    // MongoDB knows many more ways to write a date, all of them with a digit.
    if (/\d/.test(text)) throw notSupported(`A date written as '${text}'`)
    throw conversionFailed(text, 'date')
  }
  const [, day, time = '00:00', seconds = '00', fraction = '', sign, hours, minutes = '00'] = parts
  const iso = `${day}T${time}:${seconds}.${fraction.padEnd(3, '0')}`
  const offset = sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`
  const written = new Date(`${iso}Z`)
  const date = new Date(`${iso}${offset}`)
  // A day or an hour that does not exist would be moved to the next one.
  if (Number.isNaN(date.getTime()) || written.toISOString() !== `${iso}Z`) {
    throw conversionFailed(text, 'date')
  }
  return date
}

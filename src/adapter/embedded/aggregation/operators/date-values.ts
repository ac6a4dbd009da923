import { ObjectId, Timestamp } from 'bson'
import { notSupported } from '../../errors/command-error.ts'
import { conversionFailed } from './conversion-error.ts'

const DATE =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,3})\d*)?)?\s*(?:Z|([+-])(\d{2}):?(\d{2})?)?)?$/

/** Returns the date that a date, an ObjectId or a timestamp holds, `undefined` for other values. */
export function dateOf(value: unknown): Date | undefined {
  if (value instanceof Date) return value
  if (value instanceof ObjectId) return value.getTimestamp()
  return value instanceof Timestamp ? new Date(value.t * 1000) : undefined
}

/** Returns a date from ISO 8601, in UTC where no offset is given. @throws {CommandError} 241 */
export function parseDate(text: string): Date {
  const parts = DATE.exec(text)
  if (parts === null) {
    // MongoDB reads many more formats, all of them with a digit.
    if (/\d/.test(text)) throw notSupported(`A date written as '${text}'`)
    throw conversionFailed(text, 'date')
  }
  const [, day, time = '00:00', seconds = '00', fraction = '', sign, hours, minutes = '00'] = parts
  const iso = `${day}T${time}:${seconds}.${fraction.padEnd(3, '0')}`
  const offset = sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`
  const written = new Date(`${iso}Z`)
  const date = new Date(`${iso}${offset}`)
  // `Date` would move a day or an hour that does not exist to the next one.
  if (Number.isNaN(date.getTime()) || written.toISOString() !== `${iso}Z`) {
    throw conversionFailed(text, 'date')
  }
  return date
}

import type { ConvertingKeyword } from '../../schema-keywords.ts'

const DATE_TIME =
  /^\d{4}-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * The keyword `date` for an Ajv of your own: `ajv.addKeyword(keywordDate)`. That of Remex has it
 * already. Where a schema says `date: true`, Dates are valid, and strings that are a date and time with
 * its offset from UTC, in the place of which a Date is put into the data. Every other value is an error
 * of the validation that names the place.
 * @see RFC 3339 §5.6
 */
export const keywordDate: ConvertingKeyword<'date'> = {
  keyword: 'date',
  schemaType: 'boolean',
  modifying: true,
  post: true,
  error: { message: 'must be a date and time like 2026-01-31T12:00:00Z' },
  compile: (isOn) => (isOn ? convertInPlace : () => true),
}

const convertInPlace: ReturnType<(typeof keywordDate)['compile']> = (value, place) => {
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  const date = typeof value === 'string' ? toDate(value) : undefined
  // The schema of the whole data has no place to put a Date into, so a string there is invalid.
  if (date === undefined || place?.parentData === undefined) return false
  place.parentData[place.parentDataProperty] = date
  return true
}

function toDate(text: string): Date | undefined {
  const [, month, day] = DATE_TIME.exec(text) ?? []
  if (month === undefined || !isDayOfMonth(Number(text.slice(0, 4)), Number(month), Number(day))) {
    return undefined
  }
  return new Date(text.toUpperCase())
}

/** The 30th of February would be a day of March for `Date`. */
function isDayOfMonth(year: number, month: number, day: number): boolean {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

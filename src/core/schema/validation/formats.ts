import type { Ajv } from 'ajv'
import type { Ajv2019 } from 'ajv/dist/2019.js'
import type { Ajv2020 } from 'ajv/dist/2020.js'
import type { FormatName, FormatsPluginOptions } from 'ajv-formats'
import ajvFormats from 'ajv-formats'
import type { ConvertingKeyword } from '../../schema-keywords.ts'
import { findSchemaKeywords } from '../../schema-keywords.ts'
import type { Keywords } from '../model/keywords.ts'

/** An Ajv of one of the dialects of JSON Schema. */
export type AnyAjv = Ajv | Ajv2019 | Ajv2020

/**
 * The formats that schemas may name. Of those of `ajv-formats` there is no `url`, the expression of
 * which takes the square of the length of a string (`uri` is there), and no `regex`, which compiles what
 * callers send.
 */
export const FORMATS: readonly FormatName[] = [
  ...(['date', 'time', 'date-time', 'iso-time', 'iso-date-time', 'duration'] as const),
  ...(['uri', 'uri-reference', 'uri-template', 'email', 'hostname', 'ipv4', 'ipv6'] as const),
  ...(['uuid', 'json-pointer', 'json-pointer-uri-fragment', 'relative-json-pointer'] as const),
  ...(['int32', 'int64', 'float', 'double', 'password', 'binary'] as const),
]

/** The format `byte`. That of `ajv-formats` looks at one line alone and takes any others beside it. */
const BASE64: RegExp = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Adds formats of the package `ajv-formats` to an Ajv of your own, and returns the Ajv.
 * @param formats their names, or the options of that package. Default: those that the Ajv of Remex has
 */
export function addFormats<A extends AnyAjv>(ajv: A, formats?: FormatsPluginOptions): A {
  ajvFormats.default(ajv, formats ?? [...FORMATS])
  if (formats === undefined) ajv.addFormat('byte', BASE64)
  return ajv
}

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

/** Whether a schema is one of strings that become another value: a date, or an id. */
export function isConverted(schema: Keywords): boolean {
  const keywords = [keywordDate, ...findSchemaKeywords()]
  return keywords.some(({ keyword }) => schema[keyword] === true)
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
  if (month >= 1 && month <= 12 && day >= 1 && day <= 28) return true
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

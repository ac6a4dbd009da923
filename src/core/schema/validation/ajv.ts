import type { ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import unevaluatedProperties from 'ajv/dist/vocabularies/unevaluated/unevaluatedProperties.js'
import type { FormatName, FormatsPluginOptions } from 'ajv-formats'
import ajvFormats from 'ajv-formats'
import type { ConvertingKeyword } from '../../schema-keywords.ts'
import { findSchemaKeywords } from '../../schema-keywords.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import type { Keywords } from '../model/keywords.ts'
import {
  getOrAdd,
  hasKeywords,
  someSchema,
  visitSchemas,
  withPrefixItems,
} from '../model/keywords.ts'
import { writeReferences } from '../model/references.ts'
import { isCommonSchema } from './common-schema.ts'

export { Ajv }

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

const LATEST_DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/**
 * Keywords that check nothing, and are no mistake: those of OpenAPI, and `$anchor`, which Ajv resolves
 * but does not know.
 */
const ANNOTATIONS = ['example', 'externalDocs', 'xml', 'discriminator', '$anchor']

/** The class for each dialect, by the `$schema` of schemas. */
const CLASSES = new Map<string, typeof Ajv | typeof Ajv2019 | typeof Ajv2020>([
  ['http://json-schema.org/draft-07/schema', Ajv],
  ['https://json-schema.org/draft/2019-09/schema', Ajv2019],
  [LATEST_DIALECT, Ajv2020],
])

/** What a check does beside checking. */
export interface CompileOptions {
  /** Whether the `default` of a property is put where it is missing. Default: `false`. */
  readonly useDefaults?: boolean
  /** Whether a check goes on behind the first fault. Default: `false`. */
  readonly allErrors?: boolean
}

interface AjvOptions extends CompileOptions {
  /** The `$schema` of the schemas, without the empty fragment at the end. */
  readonly dialect: string
  /** Whether inherited properties, such as `toString`, count as missing. */
  readonly ownProperties: boolean
}

/** The instances by their options. No schema becomes known to another one, so they can be shared. */
const INSTANCES = new Map<string, AnyAjv>()

/**
 * Returns a new Ajv: strict, with the formats and the keyword `date`. It converts no types, loads no
 * schemas, and has no references to data.
 * @throws {TypeError} an unknown dialect
 */
function createAjv({ dialect, ...options }: AjvOptions): AnyAjv {
  const AjvOfDialect = CLASSES.get(dialect)
  if (AjvOfDialect === undefined) {
    const known = [...CLASSES.keys()].join(', ')
    throw new TypeError(`Unknown $schema '${dialect}' in a JSON Schema, known are ${known}`)
  }
  const ajv = new AjvOfDialect({
    strict: true,
    // Where it has to be asked, compileSchema() asks the meta-schema.
    validateSchema: false,
    // Lists of types are plain JSON Schema, and the parts of an `allOf` may require what others name.
    allowUnionTypes: true,
    strictRequired: false,
    strictTuples: false,
    addUsedSchema: false,
    unevaluated: true,
    ...options,
    // 0.07 / 0.01 is 7.000000000000001. The quotient may be so many decimals off an integer.
    multipleOfPrecision: 6,
    // Code for each reference, and work on it, would take most of the time; the engine does it anyway.
    inlineRefs: false,
    code: { optimize: false },
  })
  addFormats(ajv)
  ajv.addKeyword(keywordDate)
  ajv.addVocabulary(ANNOTATIONS)
  // By it, what is put together of parts is closed; draft-07 itself has no word for that.
  if (AjvOfDialect === Ajv) ajv.addKeyword(unevaluatedProperties.default)
  return ajv
}

/**
 * Returns what checks values by a schema with linked references, with the shared Ajv of its dialect.
 * @throws {TypeError} an unknown dialect, or a schema that says `$async`
 * @throws {Error} an invalid schema, with the place
 */
export function compileSchema(
  schema: JSONSchema,
  { useDefaults = false, allErrors = false }: CompileOptions = {},
): ValidateFunction {
  const { $schema, $async } = hasKeywords(schema) ? schema : {}
  // Its check would return a promise, and those who check at once would leave it to reject unheard.
  if ($async !== undefined) {
    throw new TypeError(
      'A JSON Schema with $async needs an Ajv of your own: getValidator(schema, ajv)',
    )
  }
  const dialect = typeof $schema === 'string' ? $schema.replace(/#$/, '') : LATEST_DIALECT
  // Asking for each name whether it is an own one takes time.
  const ownProperties = someSchema(schema, namesInherited)
  const options = { dialect, useDefaults, allErrors, ownProperties }
  const ajv = getOrAdd(INSTANCES, JSON.stringify(options), () => createAjv(options))
  addKeywords(ajv, schema)
  const shared = writeReferences(schema, { sharesParts: true })
  const written = dialect === LATEST_DIALECT ? withPrefixItems(shared) : shared
  // Without an id, Ajv finds no schema that refers to itself as a whole: it remembers none of ours.
  const isUnnamed = hasKeywords(written) && written['$id'] === undefined
  const refersToItself = isUnnamed && someSchema(written, ({ $ref }) => $ref === '#')
  const compiled = refersToItself ? { ...written, $id: 'schema' } : written
  const isCommon = dialect === LATEST_DIALECT && isCommonSchema(compiled)
  if (!isCommon) ajv.validateSchema(compiled, true)
  return ajv.compile(compiled)
}

/**
 * Makes the keywords known that are so by now, since schemas with them may be made at any time, and those of
 * a schema that say by their name that they are an author's own: `x-…`.
 */
function addKeywords(ajv: AnyAjv, root: JSONSchema): void {
  for (const keyword of findSchemaKeywords()) {
    if (ajv.getKeyword(keyword.keyword) === false) ajv.addKeyword(keyword)
  }
  visitSchemas(root, (schema) => {
    for (const keyword of Object.keys(schema)) {
      // addKeyword() refuses names with a dot, which OpenAPI allows.
      if (keyword.startsWith('x-')) ajv.RULES.keywords[keyword] = true
    }
  })
}

/** Whether a schema names a property that every object inherits. */
function namesInherited({ properties, required }: Keywords): boolean {
  const names = [...Object.keys(properties ?? {}), ...(Array.isArray(required) ? required : [])]
  return names.some((name) => name in Object.prototype)
}

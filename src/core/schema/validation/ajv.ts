import type { ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import unevaluatedProperties from 'ajv/dist/vocabularies/unevaluated/unevaluatedProperties.js'
import type { FormatName, FormatsPluginOptions } from 'ajv-formats'
import ajvFormats from 'ajv-formats'
import { SchemaError } from '../../errors/setup-errors.ts'
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
 * The formats that schemas may name: those of `ajv-formats` without `url`, whose expression takes quadratic
 * time (use `uri`), and without `regex`, which compiles caller input.
 */
export const FORMATS: readonly FormatName[] = [
  ...(['date', 'time', 'date-time', 'iso-time', 'iso-date-time', 'duration'] as const),
  ...(['uri', 'uri-reference', 'uri-template', 'email', 'hostname', 'ipv4', 'ipv6'] as const),
  ...(['uuid', 'json-pointer', 'json-pointer-uri-fragment', 'relative-json-pointer'] as const),
  ...(['int32', 'int64', 'float', 'double', 'password', 'binary'] as const),
]

/** The format `byte`. That of `ajv-formats` checks only one line and accepts any others. */
const BASE64: RegExp = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/**
 * Adds formats of the package `ajv-formats` to a custom Ajv, and returns the Ajv.
 * @param formats their names, or the options of that package. Default: those of Remex's Ajv
 */
export function addFormats<A extends AnyAjv>(ajv: A, formats?: FormatsPluginOptions): A {
  ajvFormats.default(ajv, formats ?? [...FORMATS])
  if (formats === undefined) ajv.addFormat('byte', BASE64)
  return ajv
}

const DATE_TIME =
  /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i

/**
 * The keyword `date` for a custom Ajv: `ajv.addKeyword(keywordDate)`. Remex's own Ajv includes it. With
 * `date: true`, Dates are valid, and strings with date, time and UTC offset are replaced by Dates in the
 * data. Any other value is a validation error that names the place.
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

/** Whether a schema converts strings to another value, a date or an id. */
export function isConverted(schema: Keywords): boolean {
  const keywords = [keywordDate, ...findSchemaKeywords()]
  return keywords.some(({ keyword }) => schema[keyword] === true)
}

const convertInPlace: ReturnType<(typeof keywordDate)['compile']> = (value, place) => {
  if (value instanceof Date) return !Number.isNaN(value.getTime())
  const date = typeof value === 'string' ? toDate(value) : undefined
  // At the root of the data there is no parent to put the Date into, so a string there is invalid.
  if (date === undefined || place?.parentData === undefined) return false
  place.parentData[place.parentDataProperty] = date
  return true
}

function toDate(text: string): Date | undefined {
  const day = text.slice(0, 10)
  // `Date` would turn February 30 into a day of March.
  const isDay = DATE_TIME.test(text) && new Date(day).toJSON()?.startsWith(day)
  return isDay ? new Date(text.toUpperCase()) : undefined
}

const LATEST_DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/**
 * Valid keywords that check nothing: those of OpenAPI, and `$anchor`, which Ajv resolves but does not know.
 */
const ANNOTATIONS = ['example', 'externalDocs', 'xml', 'discriminator', '$anchor']

/** The class for each dialect, by the `$schema` of schemas. */
const CLASSES = new Map<string, typeof Ajv | typeof Ajv2019 | typeof Ajv2020>([
  ['http://json-schema.org/draft-07/schema', Ajv],
  ['https://json-schema.org/draft/2019-09/schema', Ajv2019],
  [LATEST_DIALECT, Ajv2020],
])

/** Additional effects of a check. */
export interface CompileOptions {
  /** Whether missing properties get their `default`. Default: `false`. */
  readonly useDefaults?: boolean
  /** Whether a check continues after the first error. Default: `false`. */
  readonly allErrors?: boolean
}

interface AjvOptions extends CompileOptions {
  /** The `$schema` of the schemas, without the empty fragment at the end. */
  readonly dialect: string
  /** Whether inherited properties, such as `toString`, count as missing. */
  readonly ownProperties: boolean
}

/** The instances by options. Schemas do not see each other, so instances can be shared. */
const INSTANCES = new Map<string, AnyAjv>()

/**
 * Returns a new Ajv: strict, with the formats and the keyword `date`. It does not convert types, load schemas
 * or support `$data`.
 * @throws {TypeError} an unknown dialect
 */
function createAjv({ dialect, ...options }: AjvOptions): AnyAjv {
  const AjvOfDialect = CLASSES.get(dialect)
  if (AjvOfDialect === undefined) {
    const known = [...CLASSES.keys()].join(', ')
    throw new SchemaError(`Unknown $schema '${dialect}' in a JSON Schema, known are ${known}`)
  }
  const ajv = new AjvOfDialect({
    strict: true,
    // compileSchema() uses the meta-schema if needed.
    validateSchema: false,
    // Lists of types are valid JSON Schema, and the parts of an `allOf` may require properties that others
    // name.
    allowUnionTypes: true,
    strictRequired: false,
    strictTuples: false,
    addUsedSchema: false,
    unevaluated: true,
    ...options,
    // 0.07 / 0.01 is 7.000000000000001. The number of decimals to which a quotient must be an integer.
    multipleOfPrecision: 6,
    // Inlining references would take most of the time; the engine inlines calls anyway.
    inlineRefs: false,
    code: { optimize: false },
  })
  addFormats(ajv)
  ajv.addKeyword(keywordDate)
  ajv.addVocabulary(ANNOTATIONS)
  // Closes objects composed of parts, for which draft-07 has no keyword.
  if (AjvOfDialect === Ajv) ajv.addKeyword(unevaluatedProperties.default)
  return ajv
}

/**
 * Returns a function that checks values by a schema with linked references, with the shared Ajv of its
 * dialect.
 * @throws {TypeError} an unknown dialect, or a schema with `$async`
 * @throws {Error} an invalid schema, with the place
 */
export function compileSchema(
  schema: JSONSchema,
  { useDefaults = false, allErrors = false }: CompileOptions = {},
): ValidateFunction {
  const { $schema, $async } = hasKeywords(schema) ? schema : {}
  // Its check would return a promise, and synchronous callers would leave its rejection unhandled.
  if ($async !== undefined) {
    throw new SchemaError('A JSON Schema with $async needs a custom Ajv: getValidator(schema, ajv)')
  }
  const dialect = typeof $schema === 'string' ? $schema.replace(/#$/, '') : LATEST_DIALECT
  // Checking whether each name is an own property takes time.
  const ownProperties = someSchema(schema, namesInherited)
  const options = { dialect, useDefaults, allErrors, ownProperties }
  const ajv = getOrAdd(INSTANCES, JSON.stringify(options), () => createAjv(options))
  addKeywords(ajv, schema)
  const shared = writeReferences(schema, { sharesParts: true })
  const written = dialect === LATEST_DIALECT ? withPrefixItems(shared) : shared
  // Without an id, Ajv cannot find a schema that refers to its own root: it does not remember our schemas.
  const isUnnamed = hasKeywords(written) && written['$id'] === undefined
  const refersToItself = isUnnamed && someSchema(written, ({ $ref }) => $ref === '#')
  const compiled = refersToItself ? { ...written, $id: 'schema' } : written
  const isCommon = dialect === LATEST_DIALECT && isCommonSchema(compiled)
  if (!isCommon) ajv.validateSchema(compiled, true)
  return ajv.compile(compiled)
}

/**
 * Adds the keywords registered so far, since schemas with them may be created at any time, and the custom
 * keywords of a schema, `x-…`.
 */
function addKeywords(ajv: AnyAjv, root: JSONSchema): void {
  for (const keyword of findSchemaKeywords()) {
    if (ajv.getKeyword(keyword.keyword) === false) ajv.addKeyword(keyword)
  }
  visitSchemas(root, (schema) => {
    for (const keyword of Object.keys(schema)) {
      // addKeyword() rejects names with a dot, which OpenAPI allows.
      if (keyword.startsWith('x-')) ajv.RULES.keywords[keyword] = true
    }
  })
}

/** Whether a schema names a property that every object inherits. */
function namesInherited({ properties, required }: Keywords): boolean {
  const names = [...Object.keys(properties ?? {}), ...(Array.isArray(required) ? required : [])]
  return names.some((name) => name in Object.prototype)
}

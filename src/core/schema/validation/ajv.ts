import type { ValidateFunction } from 'ajv'
import { Ajv } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import unevaluatedProperties from 'ajv/dist/vocabularies/unevaluated/unevaluatedProperties.js'
import { findSchemaKeywords } from '../../schema-keywords.ts'
import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import type { Keywords } from '../model/keywords.ts'
import { hasKeywords, someSchema, visitSchemas, withPrefixItems } from '../model/keywords.ts'
import { writeReferences } from '../model/references.ts'
import type { AnyAjv } from './formats.ts'
import { addFormats, keywordDate } from './formats.ts'

export { Ajv }

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

/** What an Ajv does beside checking. */
export interface AjvOptions {
  /** The `$schema` of the schemas. Default: JSON Schema 2020-12. */
  readonly dialect?: string
  /** Whether the `default` of a property is put where it is missing. Default: `false`. */
  readonly useDefaults?: boolean
  /** Whether inherited properties, such as `toString`, count as missing. Default: `false`. */
  readonly ownProperties?: boolean
  /** Whether a check goes on behind the first fault. Default: `false`. */
  readonly allErrors?: boolean
}

/** The instances by their options. No schema becomes known to another one, so they can be shared. */
const INSTANCES = new Map<string, AnyAjv>()

/**
 * Returns a new Ajv for schemas of a dialect: strict, with the formats, with the keyword `date` and all
 * that are known by now. It converts no types, loads no schemas, and has no references to data.
 * @throws {TypeError} an unknown dialect
 */
function createAjv({
  dialect = LATEST_DIALECT,
  useDefaults = false,
  ownProperties = false,
  allErrors = false,
}: AjvOptions = {}): AnyAjv {
  const AjvOfDialect = CLASSES.get(toDialect(dialect))
  if (AjvOfDialect === undefined) {
    const known = [...CLASSES.keys()].join(', ')
    throw new TypeError(`Unknown $schema '${dialect}' in a JSON Schema, known are ${known}`)
  }
  const ajv = new AjvOfDialect({
    strict: true,
    // Lists of types are plain JSON Schema, and the parts of an `allOf` may require what others name.
    allowUnionTypes: true,
    strictRequired: false,
    strictTuples: false,
    addUsedSchema: false,
    unevaluated: true,
    ownProperties,
    useDefaults,
    allErrors,
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
  return addKnownKeywords(ajv)
}

/**
 * Returns what checks values by a schema with linked references, with the shared Ajv of its dialect.
 * @throws {TypeError} an unknown dialect, or a schema that says `$async`
 * @throws {Error} an invalid schema, with the place
 */
export function compileSchema(
  schema: JSONSchema,
  { useDefaults = false, allErrors = false }: Pick<AjvOptions, 'useDefaults' | 'allErrors'> = {},
): ValidateFunction {
  const named = isObject(schema) ? schema['$schema'] : undefined
  // Its check would return a promise, and those who check at once would leave it to reject unheard.
  if (isObject(schema) && schema['$async'] !== undefined) {
    throw new TypeError(
      'A JSON Schema with $async needs an Ajv of your own: getValidator(schema, ajv)',
    )
  }
  const dialect = toDialect(typeof named === 'string' ? named : LATEST_DIALECT)
  // Asking for each name whether it is an own one takes time.
  const ownProperties = someSchema(schema, namesInherited)
  const key = `${dialect} ${useDefaults} ${ownProperties} ${allErrors}`
  const ajv = INSTANCES.get(key) ?? createAjv({ dialect, useDefaults, ownProperties, allErrors })
  INSTANCES.set(key, ajv)
  addExtensions(ajv, schema)
  const shared = writeReferences(schema, { sharesParts: true })
  const written = dialect === LATEST_DIALECT ? withPrefixItems(shared) : shared
  return addKnownKeywords(ajv).compile(withId(written))
}

/** Makes the keywords of a schema known that say by their name that they are an author's own: `x-…`. */
function addExtensions(ajv: AnyAjv, root: JSONSchema): void {
  visitSchemas(root, (schema) => {
    for (const keyword of Object.keys(schema)) {
      // addKeyword() refuses names with a dot, which OpenAPI allows.
      if (keyword.startsWith('x-')) ajv.RULES.keywords[keyword] = true
    }
  })
}

/** Without an id, Ajv finds no schema that refers to itself as a whole: it remembers none of ours. */
function withId(schema: JSONSchema): JSONSchema {
  const isNamed = !hasKeywords(schema) || schema['$id'] !== undefined
  return isNamed || !someSchema(schema, ({ $ref }) => $ref === '#')
    ? schema
    : { ...schema, $id: 'schema' }
}

/** Schemas with a keyword may be made at any time. */
function addKnownKeywords(ajv: AnyAjv): AnyAjv {
  for (const keyword of findSchemaKeywords()) {
    if (ajv.getKeyword(keyword.keyword) === false) ajv.addKeyword(keyword)
  }
  return ajv
}

/** Whether a schema names a property that every object inherits. */
function namesInherited({ properties, required }: Keywords): boolean {
  const names = [...Object.keys(properties ?? {}), ...(Array.isArray(required) ? required : [])]
  return names.some((name) => name in Object.prototype)
}

/** The empty fragment at the end means nothing. */
function toDialect(schema: string): string {
  return schema.replace(/#$/, '')
}

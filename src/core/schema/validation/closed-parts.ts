import type { JSONSchema } from '../../services/service-schemas.ts'
import { isObject } from '../../value-kind.ts'
import type { Keywords } from '../json-schema.ts'
import type { FindReference } from '../schema-references.ts'
import { indexReferences } from '../schema-references.ts'

/** Keywords with schemas of the same value, one or more of which hold for it. */
const ALTERNATIVES = ['anyOf', 'oneOf', 'then', 'else']

const ADVICE =
  'leave that out of the parts, and close the whole: ' +
  'Type.Intersect([…], { additionalProperties: false }) with the Type of remex/schema, or ' +
  'unevaluatedProperties: false in JSON Schema'

/**
 * Refuses a schema that joins others by `allOf`, of which one is closed by `additionalProperties: false`
 * and refuses what another one names: no value can ever have that property, and each one that
 * does is refused with nothing to tell why. A property with the schema `false` is left out on purpose.
 * @throws {TypeError} names the property
 */
export function checkClosedParts(schema: JSONSchema): void {
  if (!isObject(schema)) return
  const findReference = indexReferences(schema)
  const seen = new Set<unknown>()
  const check = (inner: unknown): void => {
    if (!isObject(inner) || seen.has(inner)) return
    seen.add(inner)
    if (Array.isArray(inner['allOf'])) checkParts(inner, findReference)
    for (const value of Object.values(inner)) check(value)
  }
  check(schema)
}

function checkParts(schema: Keywords, findReference: FindReference): void {
  const parts = collectParts(schema, findReference, new Set())
  const names = new Set(parts.flatMap((part) => findNames(part, findReference, new Set())))
  for (const part of parts) {
    if (part['additionalProperties'] !== false) continue
    const refused = [...names].find((name) => !isNamed(part, name))
    if (refused === undefined) continue
    throw new TypeError(
      `No value can have the property '${refused}' of a schema with allOf: ` +
        `a part of it is closed by additionalProperties: false, and does not name it; ${ADVICE}`,
    )
  }
}

/** Returns a schema, and all that always hold for the same value as it does. */
function collectParts(
  schema: unknown,
  findReference: FindReference,
  seen: Set<unknown>,
): readonly Keywords[] {
  if (!isObject(schema) || seen.has(schema)) return []
  seen.add(schema)
  const { allOf, $ref } = schema
  const joined: readonly unknown[] = Array.isArray(allOf) ? allOf : []
  const meant = typeof $ref === 'string' ? [findReference($ref)] : []
  return [schema, ...[...joined, ...meant].flatMap((one) => collectParts(one, findReference, seen))]
}

/** Returns the properties that a schema or one of its alternatives names as possible ones. */
function findNames(
  schema: Keywords,
  findReference: FindReference,
  seen: Set<unknown>,
): readonly string[] {
  const { properties } = schema
  const own = Object.entries(isObject(properties) ? properties : {})
    .filter(([, property]) => property !== false)
    .map(([name]) => name)
  const alternatives = ALTERNATIVES.flatMap((keyword) => schema[keyword] ?? [])
    .flatMap((one) => collectParts(one, findReference, seen))
    .flatMap((part) => findNames(part, findReference, seen))
  return [...own, ...alternatives]
}

function isNamed({ properties, patternProperties }: Keywords, name: string): boolean {
  if (isObject(properties) && Object.hasOwn(properties, name)) return true
  if (!isObject(patternProperties)) return false
  return Object.keys(patternProperties).some((pattern) => new RegExp(pattern, 'u').test(name))
}

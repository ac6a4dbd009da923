import { findSchemaKeywords } from '../../schema-keywords.ts'
import { isPlainObject } from '../../value-kind.ts'

/** Whether the value of a keyword is valid. Schemas inside it are left to `isSchema`. */
type KeywordRule = (value: unknown, isSchema: (value: unknown) => boolean) => boolean

const TYPES = new Set(['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'])

const isAny: KeywordRule = () => true
const isText: KeywordRule = (value) => typeof value === 'string'
const isFlag: KeywordRule = (value) => typeof value === 'boolean'
const isCount: KeywordRule = (value) => Number.isInteger(value) && (value as number) >= 0
const isNumber: KeywordRule = (value) => Number.isFinite(value)
const isList: KeywordRule = (value) => Array.isArray(value)
const isOneSchema: KeywordRule = (value, isSchema) => isSchema(value)
const isSchemaList: KeywordRule = (value, isSchema) =>
  Array.isArray(value) && value.length > 0 && value.every(isSchema)
const isSchemaMap: KeywordRule = (value, isSchema) =>
  isPlainObject(value) && Object.values(value).every(isSchema)

const isNameList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.every((name) => typeof name === 'string') &&
  new Set(value).size === value.length

function ruleOf(rule: KeywordRule, ...keywords: readonly string[]): [string, KeywordRule][] {
  return keywords.map((keyword) => [keyword, rule])
}

/** The common keywords, with the rules of dialect 2020-12 for their values. */
const RULES: ReadonlyMap<string, KeywordRule> = new Map([
  ...ruleOf(isText, 'title', 'description', '$comment', 'format', 'pattern'),
  ...ruleOf(isFlag, 'uniqueItems', 'readOnly', 'writeOnly', 'deprecated'),
  ...ruleOf(isCount, 'minLength', 'maxLength', 'minItems', 'maxItems'),
  ...ruleOf(isCount, 'minProperties', 'maxProperties'),
  ...ruleOf(isNumber, 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'),
  ...ruleOf(isAny, 'const', 'default'),
  ...ruleOf(isList, 'enum', 'examples'),
  ...ruleOf(isOneSchema, 'items', 'additionalProperties', 'unevaluatedProperties', 'not'),
  ...ruleOf(isSchemaList, 'allOf', 'anyOf', 'oneOf', 'prefixItems'),
  ...ruleOf(isSchemaMap, 'properties', '$defs'),
  ...ruleOf(isNameList, 'required'),
  ...ruleOf(
    (value) =>
      TYPES.has(value as string) ||
      (isNameList(value) && value.length > 0 && value.every((type) => TYPES.has(type))),
    'type',
  ),
  ...ruleOf((value) => typeof value === 'string' && /^[\w-]+$/.test(value), '$id'),
  ...ruleOf((value) => typeof value === 'string' && /^[\w-]*(#[\w/$-]*)?$/.test(value), '$ref'),
])

/**
 * Whether a schema has only common keywords, each with a valid value. Other schemas need the meta-schema of
 * their dialect, which takes 40 ms of the start to compile.
 */
export function isCommonSchema(root: unknown): boolean {
  const converting = new Set(['date'])
  for (const { keyword } of findSchemaKeywords()) converting.add(keyword)
  const isSchema = (schema: unknown): boolean => {
    if (typeof schema === 'boolean') return true
    if (!isPlainObject(schema)) return false
    return Object.entries(schema).every(
      ([keyword, value]) =>
        value === undefined ||
        RULES.get(keyword)?.(value, isSchema) === true ||
        converting.has(keyword),
    )
  }
  return isSchema(root)
}

import { SchemaError } from '../../errors/setup-errors.ts'
import { isStandardMethod } from '../../method-table.ts'
import type { OptionRule, OptionRules } from '../../options/option-check.ts'
import { checkOptions } from '../../options/option-check.ts'
import type { ServiceEntryFace } from '../../services/method-entry.ts'
import type {
  CustomMethodSchemas,
  DataSchema,
  ServiceSchemas,
} from '../../services/service-schemas.ts'
import { isObject, isPlainObject } from '../../value-kind.ts'
import { isStandardSchema } from '../validation/standard-schema.ts'

const JSON_SCHEMA: OptionRule = { expected: 'a JSON Schema', isValid: isJSONSchema }
const DATA_SCHEMA: OptionRule = {
  expected: 'a JSON Schema or a Standard Schema',
  isValid: (value) => isJSONSchema(value) || isStandardSchema(value),
}

const CUSTOM_RULES: OptionRules = { data: DATA_SCHEMA, query: JSON_SCHEMA, result: JSON_SCHEMA }

/** The data of standard methods is described next to `methods`, not inside. */
const STANDARD_RULES: OptionRules = {
  query: JSON_SCHEMA,
  result: {
    expected: 'the JSON Schema of an object: the whole answer',
    isValid: (value) => isObject(value) && isJSONSchema(value) && value['type'] !== 'array',
  },
}

/** The standard methods with data, each with its own schema. */
const DATA_METHODS = ['create', 'update', 'patch'] as const

const RULES: OptionRules = {
  entity: JSON_SCHEMA,
  create: DATA_SCHEMA,
  update: DATA_SCHEMA,
  patch: DATA_SCHEMA,
  query: JSON_SCHEMA,
  result: JSON_SCHEMA,
  unknown: {
    expected: "'refuse' or 'drop'",
    isValid: (value) => value === 'refuse' || value === 'drop',
  },
  methods: { expected: 'an object with schemas by the names of methods', isValid: isPlainObject },
}

/**
 * Checks the option `schemas` of a service: each external method with data must have a schema, since
 * unchecked data would be stored as it is.
 * @throws {TypeError} a name is unknown, a value is not a schema, or a schema is missing or not needed
 */
export function checkServiceSchemas(entry: ServiceEntryFace, schemas: ServiceSchemas): void {
  const owner = `The schemas of service '${entry.path}'`
  checkOptions(owner, schemas, RULES)
  for (const [name, method] of Object.entries(schemas.methods ?? {})) {
    const isStandard = isStandardMethod(name)
    const isThere = isStandard ? entry.methods.get(name)?.external : entry.methods.has(name)
    if (!isThere) {
      const hint = "its option 'methods' lists them"
      throw new SchemaError(`${owner}: the service has no method '${name}'; ${hint}`)
    }
    const rules = isStandard ? STANDARD_RULES : CUSTOM_RULES
    checkOptions(`${owner}, method '${name}'`, method, rules)
  }
  const withData = [...entry.methods.values()]
    .filter(({ external, spec }) => external && spec.arguments.includes('data'))
    .map(({ name }) => name)
  for (const name of withData) {
    const data = toDataSchema(schemas, name)
    if (data === undefined) throw createMissing(owner, schemas, name)
    if (schemas.unknown === 'drop' && isStandardSchema(data)) {
      throw new SchemaError(
        `${owner}: 'unknown' only applies to JSON Schemas; the library of the schema decides about other fields of '${name}'`,
      )
    }
  }
  // Other schemas may follow from that of `create`.
  const isBase = withData.some((name) => toDataSchema(schemas, name) === schemas.create)
  for (const name of DATA_METHODS) {
    if (schemas[name] === undefined || withData.includes(name)) continue
    if (name === 'create' && isBase) continue
    throw new SchemaError(`${owner}: '${name}' is for a method that external callers cannot call`)
  }
}

/**
 * Returns the schema of the data of a method, `undefined` for none. That of `patch` may be the one of
 * `create`, then without required properties.
 */
export function toDataSchema(schemas: ServiceSchemas, method: string): DataSchema | undefined {
  const { create, update = create, patch, methods = {} } = schemas
  const own: Partial<CustomMethodSchemas> | undefined = methods[method]
  if (!isStandardMethod(method)) return own?.data
  if (method === 'create') return create
  if (method === 'update') return update
  // A schema of another library cannot be made partial.
  return patch ?? (isStandardSchema(create) ? undefined : create)
}

function isJSONSchema(value: unknown): boolean {
  if (typeof value === 'boolean') return true
  return isObject(value) && !Array.isArray(value) && !isStandardSchema(value)
}

function createMissing(owner: string, schemas: ServiceSchemas, name: string): TypeError {
  if (!isStandardMethod(name)) {
    return new SchemaError(`${owner} lack the data of '${name}': methods: { ${name}: { data } }`)
  }
  const isOther = name === 'patch' && schemas.create !== undefined
  const reason = isOther ? ' (it does not follow from that of another library)' : ''
  return new SchemaError(`${owner} lack '${name}'${reason}: name what callers may send, or true`)
}

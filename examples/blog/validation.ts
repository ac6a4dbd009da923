// What may come from outside. Schemas are in the files of the services; here are the hooks that use
// them, and what JSON and URLs have no types for.
import { ObjectId } from 'mongodb'
import type { Hook, Query } from 'remex'
import { BadRequest } from 'remex'
import { z } from 'zod'

/** Returns a hook that checks and converts `context.data` of callers outside. */
export function validateData(schema: z.ZodType): Hook {
  return (context) => {
    if (context.params.provider !== undefined) context.data = parse('data', schema, context.data)
  }
}

/** Returns a hook that checks and converts `context.params.query` of callers outside. */
export function validateQuery(schema: z.ZodType<Query>): Hook {
  return ({ params }) => {
    if (params.provider !== undefined) params.query = parse('query', schema, params.query ?? {})
  }
}

function parse<T>(part: string, schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value)
  if (success) return data
  const errors = error.issues.map(({ path, message }) => [path.join('.') || part, message])
  throw new BadRequest(`The ${part} is not valid`, { errors: Object.fromEntries(errors) })
}

export const email = z.string().trim().toLowerCase().pipe(z.email())

/** Values of queries: all of them come as strings, and MongoDB compares by type. */
export const inQuery = {
  string: z.string(),
  number: z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, 'must be a number')
    .transform(Number),
  boolean: z.enum(['true', 'false']).transform((text) => text === 'true'),
  date: z
    .union([z.iso.datetime({ offset: true }), z.iso.date()])
    .transform((text) => new Date(text)),
  objectId: z
    .string()
    .regex(/^[\da-f]{24}$/i, 'must be an id')
    .transform((hex) => new ObjectId(hex)),
}

/** Returns the schema of a query about these fields, and no others; `$select` takes `more` as well. */
export function querySchema(
  fields: Readonly<Record<string, z.ZodType>>,
  more: readonly string[] = [],
): z.ZodType<Query> {
  const names = z.enum(Object.keys(fields))
  const entries = Object.entries(fields).map(([name, value]) => [name, toCondition(value)] as const)
  const conditions = z.strictObject(Object.fromEntries(entries)).partial()
  return conditions
    .extend({
      $or: listOf(conditions),
      $and: listOf(conditions.extend({ $or: listOf(conditions).optional() })),
      $sort: z.partialRecord(names, z.enum(['1', '-1']).transform(Number)),
      $select: listOf(z.enum([...Object.keys(fields), ...more])),
      $limit: z.string(),
      $skip: z.string(),
    })
    .partial()
}

/** `?views=5` is `?views[$eq]=5`. */
function toCondition(value: z.ZodType): z.ZodType {
  const list = listOf(value)
  const comparisons = { $eq: value, $ne: value, $gt: value, $gte: value, $lt: value, $lte: value }
  const operators = z.strictObject({ ...comparisons, $in: list, $nin: list })
  const toOperators = (given: unknown) => (typeof given === 'string' ? { $eq: given } : given)
  return z.preprocess(toOperators, operators.partial())
}

/** A long list comes as an object with indexes. */
function listOf<T extends z.ZodType>(item: T) {
  const toList = (given: unknown) =>
    typeof given === 'object' && given !== null ? Object.values(given) : given
  return z.preprocess(toList, z.array(item))
}

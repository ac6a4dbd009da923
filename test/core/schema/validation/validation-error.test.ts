import t from 'tap'
import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { BadRequest, NotFound } from '../../../../src/core/index.ts'
import { Ajv, DateSchema, getValidator, Type } from '../../../../src/core/schema/index.ts'
import {
  createValidationError,
  joinFaults,
  toValidationError,
} from '../../../../src/core/schema/validation/validation-error.ts'
import { compileCheck } from '../../../../src/core/schema/validation/validator.ts'

/** Returns a schema for a value, or for operators with it. */
function withOperators(value: object): object {
  const operators = { $gt: value, $in: { type: 'array', items: value } }
  return {
    anyOf: [value, { type: 'object', additionalProperties: false, properties: operators }],
  }
}

const check = compileCheck(
  {
    type: 'object',
    properties: {
      area: withOperators({ type: 'number' }),
      at: withOperators(DateSchema()),
      _id: withOperators(ObjectIdSchema()),
      kind: withOperators({ type: 'string', enum: ['a', 'b'] }),
      rank: withOperators({ anyOf: [{ const: null }, { type: 'integer' }] }),
      owner: withOperators({ anyOf: [{ type: 'null' }, { type: 'boolean' }] }),
    },
  },
  { convertsStrings: true },
)

/** What is first in the list for a query, and how long the list is. */
function firstOf(query: object): unknown {
  try {
    return check(query)
  } catch (error) {
    const [first] = (error as BadRequest).data as object[]
    return first
  }
}

t.test('of alternatives, the one that comes closest is first', async (t) => {
  const cases: [query: object, instancePath: string, message: RegExp | string][] = [
    [{ area: 'abc' }, '/area', 'must be number'],
    [{ area: { $gt: 'abc' } }, '/area/$gt', 'must be number'],
    [{ area: { $in: ['1', 'abc'] } }, '/area/$in/1', 'must be number'],
    [{ area: { $where: '1' } }, '/area', 'must NOT have additional properties'],
    [{ at: 'never' }, '/at', 'must be a date and time like 2026-01-31T12:00:00Z'],
    [{ at: { $gt: 'never' } }, '/at/$gt', 'must be a date and time like 2026-01-31T12:00:00Z'],
    [{ _id: 'zz' }, '/_id', 'must be an ObjectId or a string of 24 hexadecimal digits'],
    [
      { _id: { $in: ['zz'] } },
      '/_id/$in/0',
      'must be an ObjectId or a string of 24 hexadecimal digits',
    ],
    [{ rank: 'abc' }, '/rank', 'must be integer'],
    [{ rank: { $gt: 'abc' } }, '/rank/$gt', 'must be integer'],
    [{ owner: 'abc' }, '/owner', 'must be boolean'],
    [{ kind: 'c' }, '/kind', 'must be equal to one of the allowed values'],
  ]
  for (const [query, instancePath, message] of cases) {
    t.match(firstOf(query), { instancePath, message }, JSON.stringify(query))
  }
})

t.test('holds no value that was sent, whatever the options of the Ajv', async (t) => {
  const schema = Type.Object({
    pin: Type.Union([
      Type.Literal('a'),
      Type.Number({ minimum: 5 }),
      Type.String({ pattern: '^a' }),
    ]),
  })
  const ajv = new Ajv({ verbose: true, allErrors: true })
  const error = await getValidator(
    schema,
    ajv,
  )({ pin: 'secret' }).catch((thrown: unknown) => thrown)
  t.ok(error instanceof BadRequest)
  t.notMatch(JSON.stringify(error), /secret/)
  for (const issue of (error as BadRequest).data as object[]) {
    const keys = ['instancePath', 'schemaPath', 'keyword', 'params', 'message']
    t.strictSame(Object.keys(issue), keys)
  }
})

t.test('holds no value of a discriminator', async (t) => {
  const kind = (name: string) => ({
    type: 'object',
    required: ['kind'],
    properties: { kind: { const: name } },
  })
  const ajv = new Ajv({ discriminator: true })
  const schema = {
    type: 'object',
    required: ['kind'],
    discriminator: { propertyName: 'kind' },
    oneOf: [kind('a'), kind('b')],
  }
  const params = { error: 'mapping', tag: 'kind' }
  const error = { code: 400, data: [{ keyword: 'discriminator', params }] }
  await t.rejects(getValidator(schema, ajv)({ kind: 'secret' }), error)
  const thrown = await getValidator(schema, ajv)({ kind: 'secret' }).catch((one: unknown) => one)
  t.notMatch(JSON.stringify(thrown), /secret/)
})

t.test('holds at most 20 entries', async (t) => {
  const literals = Array.from({ length: 200 }, (_, index) => Type.Literal(`literal ${index}`))
  const validate = getValidator(Type.Object({ name: Type.Union(literals) }))
  const error = await validate({ name: 'other' }).catch((thrown: unknown) => thrown)
  t.equal(((error as BadRequest).data as object[]).length, 20)
})

t.test('keeps the order of Ajv where there are no alternatives', async (t) => {
  const ajv = new Ajv({ allErrors: true })
  const schema = Type.Object({ a: Type.Object({ b: Type.Number() }), c: Type.Number() })
  const data = [{ instancePath: '/a/b' }, { instancePath: '/c' }]
  await t.rejects(getValidator(schema, ajv)({ a: { b: 'x' }, c: 'x' }), { code: 400, data })
})

t.test('has an index put before the paths, and other errors are left alone', async (t) => {
  const error = createValidationError([{ instancePath: '/a', keyword: 'type' }, {}])
  const first = joinFaults(undefined, error, 3)
  t.match(first, { data: [{ instancePath: '/3/a' }, { instancePath: '/3' }] })
  const others = [new NotFound('x'), new BadRequest('x', [1]), new BadRequest('x', { a: 1 }), null]
  for (const other of others) {
    const thrown = await Promise.resolve()
      .then(() => joinFaults(undefined, other, 3))
      .catch((thrown: unknown) => thrown)
    t.equal(thrown, other)
    t.equal(joinFaults(first, other, 4), first)
  }
})

t.test('is made of what validators of Ajv throw, and of nothing else', async (t) => {
  const thrown = Object.assign(new Error('validation failed'), { ajv: true, errors: [{}] })
  t.match(toValidationError(thrown), new BadRequest('validation failed'))
  const others = [new Error('x'), { errors: [] }, Object.assign(new Error('x'), { ajv: true }), 5]
  for (const other of others) t.equal(toValidationError(other), other)
})

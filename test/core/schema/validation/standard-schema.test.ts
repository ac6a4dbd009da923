import * as feathers from '@feathersjs/schema'
import t from 'tap'
import { z } from 'zod'

import type { BadRequest } from '../../../../src/core/index.ts'
import type { StandardSchema, ValidationInput } from '../../../../src/core/schema/index.ts'
import { Ajv, getValidator, Type, validateData } from '../../../../src/core/schema/index.ts'
import {
  createStandardValidator,
  isStandardSchema,
} from '../../../../src/core/schema/validation/standard-schema.ts'
import { readInput } from '../../../../src/core/schema/validation/validation-hooks.ts'

/** A schema that answers with a result. */
function withResult(result: unknown): StandardSchema {
  return { '~standard': { version: 1, vendor: 'own', validate: () => result } }
}

t.test('knows schemas of other libraries by their interface', (t) => {
  t.equal(isStandardSchema(z.object({})), true)
  t.equal(isStandardSchema(withResult({ value: 1 })), true)
  // Those of ArkType are functions.
  t.equal(isStandardSchema(Object.assign(() => 1, withResult({ value: 1 }))), true)
  const others = [Type.Object({}), { type: 'object' }, true, null, undefined, () => 1, 'x']
  for (const other of [...others, { '~standard': 1 }, { '~standard': { version: 1 } }]) {
    t.equal(isStandardSchema(other), false)
  }
  t.end()
})

t.test('takes a schema of TypeBox as JSON Schema, even if it has the interface', async (t) => {
  const both = Object.assign(Type.Object({ a: Type.Number() }), withResult({ value: 'replaced' }))
  t.equal(isStandardSchema(both), false)
})

t.test('resolves to the value of the schema, at once or later', async (t) => {
  for (const result of [{ value: 1 }, Promise.resolve({ value: 1 })]) {
    t.equal(await createStandardValidator(withResult(result))('x'), 1)
  }
  const inParts = Object.assign(() => 1, withResult({ value: { a: 2 } }))
  const context = { type: 'before', method: 'create', data: {}, params: {} } as const
  await validateData(inParts)(context)
  t.strictSame(context.data, { a: 2 })
})

t.test('turns issues into those of our errors', async (t) => {
  const issues = [
    { message: 'is wrong' },
    { message: 'is wrong there', path: ['a', { key: 'b/c' }, 0, Symbol('d~')] },
  ]
  const error = await createStandardValidator(withResult({ issues }))('secret').catch(
    (thrown: BadRequest) => thrown,
  )
  const rest = { schemaPath: '', keyword: 'standard', params: {} }
  t.strictSame((error as BadRequest).data, [
    { ...rest, instancePath: '', message: 'is wrong' },
    { ...rest, instancePath: '/a/b~1c/0/Symbol(d~0)', message: 'is wrong there' },
  ])
})

t.test('holds at most 20 issues, and never the value', async (t) => {
  const list = z.array(z.number())
  const sent = Array.from({ length: 200 }, (_, index) => `secret ${index}`)
  const error = await createStandardValidator(list)(sent).catch((thrown: BadRequest) => thrown)
  t.equal(((error as BadRequest).data as object[]).length, 20)
  t.notMatch(JSON.stringify(error), /secret/)
})

t.test('runs an async refinement of Zod once, and rejects with what it throws', async (t) => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const away = new Error('the lookup is away')
  const asked: string[] = []
  const check = createStandardValidator(
    z.strictObject({
      email: z.string().refine(async (email) => {
        asked.push(email)
        if (email === 'boom') throw away
        return email !== 'taken'
      }, 'is taken'),
    }),
  )
  t.strictSame(await check({ email: 'free' }), { email: 'free' })
  const taken = await check({ email: 'taken' }).catch((thrown: BadRequest) => thrown)
  t.match(taken, {
    code: 400,
    data: [{ instancePath: '/email', keyword: 'standard', message: 'is taken' }],
  })
  await t.rejects(check({ email: 'boom' }), away)
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(asked, ['free', 'taken', 'boom'])
  t.strictSame(unhandled, [])
})

t.test('keeps what Zod makes of a value', async (t) => {
  const trimmed = z.strictObject({ name: z.string().trim(), age: z.coerce.number().default(1) })
  t.strictSame(await createStandardValidator(trimmed)({ name: ' a ' }), { name: 'a', age: 1 })
  t.equal(await createStandardValidator(z.undefined())(undefined), undefined)
})

t.test('says so when a schema returns no result', async (t) => {
  const message = 'The schema of own has returned no result'
  await t.rejects(createStandardValidator(withResult(undefined))('x'), new TypeError(message))
})

t.test('the JSON Schema behind a validator is known, that of other libraries is not', (t) => {
  const findSchema = (input: ValidationInput) => readInput('it', input, {}).schema
  const schema = { $id: 'A', type: 'object', properties: { a: { type: 'number' } } } as const
  const theirs = feathers.getValidator({ ...schema, $id: 'B' }, new feathers.Ajv())
  t.equal(findSchema(schema), schema)
  t.equal(findSchema(getValidator(schema)), schema)
  t.equal(findSchema(getValidator(schema, new Ajv())), schema)
  t.equal(findSchema(new Ajv().compile(schema)), schema)
  t.match(findSchema(theirs), { $id: 'B', properties: schema.properties })
  for (const other of [z.object({}), () => 1, { validate: () => 1 }]) {
    t.equal(findSchema(other), undefined)
  }
  t.end()
})

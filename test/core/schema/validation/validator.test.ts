import { Ajv as FeathersAjv, getValidator as getFeathersValidator } from '@feathersjs/schema'
import t from 'tap'

import { BadRequest } from '../../../../src/core/index.ts'
import { Ajv, getValidator, Type } from '../../../../src/core/schema/index.ts'
import { compileCheck } from '../../../../src/core/schema/validation/validator.ts'

const USER = {
  $id: 'User',
  type: 'object',
  additionalProperties: false,
  required: ['email'],
  properties: {
    email: { type: 'string', format: 'email' },
    age: { type: 'number' },
    role: { type: 'string', default: 'user' },
  },
} as const

t.test('resolves to the same data, with defaults in it', async (t) => {
  const data = { email: 'ann@example.org' }
  t.equal(await getValidator(USER)(data), data)
  t.strictSame(data, { email: 'ann@example.org', role: 'user' })
})

t.test('rejects what does not fit with the list of what is wrong', async (t) => {
  const error = await getValidator(USER)({ email: 'ann' }).catch((thrown: unknown) => thrown)
  t.ok(error instanceof BadRequest)
  t.strictSame(JSON.parse(JSON.stringify(error)), {
    name: 'BadRequest',
    message: 'validation failed',
    code: 400,
    className: 'bad-request',
    data: [
      {
        instancePath: '/email',
        schemaPath: '#/properties/email/format',
        keyword: 'format',
        params: { format: 'email' },
        message: 'must match format "email"',
      },
    ],
  })
})

t.test('finds the same as the validator of Feathers', async (t) => {
  const ours = getValidator(USER)
  const theirs = getFeathersValidator(USER, new FeathersAjv({ formats: { email: /@/ } }))
  const invalid = [null, [], 'x', {}, { email: 1 }, { email: 'x' }, { email: 'a@b.c', extra: 1 }]
  for (const data of invalid) {
    const error = await theirs(data).catch((thrown: { errors: object[] }) => thrown)
    const { errors } = error as { errors: object[] }
    await t.rejects(ours(data), { code: 400, data: errors }, JSON.stringify(data))
  }
})

t.test('does not convert types, unless the Ajv does', async (t) => {
  const data = { email: 'ann@example.org', age: '9' }
  const issue = { instancePath: '/age', keyword: 'type', params: { type: 'number' } }
  await t.rejects(getValidator(USER)({ ...data }), { code: 400, data: [issue] })
  const ajv = new Ajv({ coerceTypes: true, formats: { email: true } })
  t.match(await getValidator(USER, ajv)({ ...data }), { age: 9 })
})

t.test('takes an asynchronous schema of an Ajv of your own', async (t) => {
  const ajv = new Ajv()
  ajv.addKeyword({
    keyword: 'free',
    async: true,
    validate: async (_on: true, name: unknown) => name !== 'ann',
  })
  const validate = getValidator(
    { $async: true, type: 'object', properties: { name: { type: 'string', free: true } } },
    ajv,
  )
  t.strictSame(await validate({ name: 'bob' }), { name: 'bob' })
  await t.rejects(validate({ name: 'ann' }), { code: 400, data: [{ instancePath: '/name' }] })
})

t.test('checks at once where it is asked to', (t) => {
  const check = compileCheck(Type.Object({ n: Type.Integer() }), { convertsStrings: true })
  t.strictSame(check({ n: '5' }), { n: 5 })
  t.throws(() => check({ n: '1.5' }), {
    code: 400,
    data: [{ instancePath: '/n', keyword: 'type' }],
  })
  t.end()
})

t.test('takes every kind of schema as often as one likes', async (t) => {
  t.equal(await getValidator(true)(5), 5)
  await t.rejects(getValidator(false)(5), { code: 400 })
  for (const schema of [USER, USER, { ...USER }]) {
    t.match(await getValidator(schema)({ email: 'ann@example.org' }), { role: 'user' })
  }
  t.equal(await getValidator(true, new Ajv())(5), 5)
})

t.test('refuses what is no JSON Schema and no Ajv by its name', async (t) => {
  const ofLibrary = { '~standard': { version: 1, vendor: 'test', validate: () => ({ value: 1 }) } }
  t.throws(() => getValidator(ofLibrary), /validateData\(\) takes the schema of another library/)
  t.throws(() => getValidator({}, { coerceTypes: true } as never), /takes a custom Ajv/)
})

t.test('refuses an invalid schema at once', async (t) => {
  t.throws(() => getValidator({ type: 'sting' }), /schema is invalid/)
  t.throws(() => getValidator({ type: 'object', propertys: {} }), /unknown keyword: "propertys"/)
  t.throws(() => getValidator({ type: 'string', format: 'mail' }), /unknown format "mail"/)
})

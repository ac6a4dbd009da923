import * as feathers from '@feathersjs/schema'
import t from 'tap'
import { z } from 'zod'

import { createApp } from '../../../../src/core/index.ts'
import type { ValidationInput, ValidationMap } from '../../../../src/core/schema/index.ts'
import {
  Ajv,
  getDataValidator,
  getValidator,
  Type,
  validateData,
} from '../../../../src/core/schema/index.ts'

const POST = Type.Object({ title: Type.String(), likes: Type.Integer({ default: 0 }) })

/** Returns a service with the hook before all of its methods; they return the data that they get. */
function createPosts(schema: ValidationInput | ValidationMap) {
  const posts = {
    find: async () => 'found',
    create: async (data: unknown) => data,
    patch: async (_id: number, data: unknown) => data,
    share: async (data: unknown) => data,
  }
  const app = createApp<{ posts: typeof posts }>()
  app.use('posts', posts, { methods: ['find', 'create', 'patch', 'share'] })
  return app.service('posts').hooks({ before: { all: [validateData(schema)] } })
}

t.test('validates the data of each method by one schema', async (t) => {
  const posts = createPosts(POST)
  t.strictSame(await posts.create({ title: 'x' }), { title: 'x', likes: 0 })
  const issue = { instancePath: '/title', keyword: 'type', params: { type: 'string' } }
  const error = { code: 400, message: 'validation failed', data: [issue] }
  await t.rejects(posts.create({ title: 1 }), error)
  await t.rejects(posts.patch(1, { title: 1 }), error)
  await t.rejects(posts.share({ title: 1 }), error)
})

t.test('leaves methods without data alone', async (t) => {
  const refuse = () => {
    throw new Error('called')
  }
  for (const schema of [POST, refuse]) t.equal(await createPosts(schema).find(), 'found')
})

t.test('validates missing data', async (t) => {
  await t.rejects(createPosts(POST).create(undefined), { code: 400 })
  await t.rejects(createPosts(POST).create(null), { code: 400 })
})

t.test('picks from a map by the name of the method', async (t) => {
  const posts = createPosts({ create: POST, share: Type.Object({ at: Type.Number() }) })
  await t.rejects(posts.create({}), { code: 400 })
  await t.rejects(posts.share({}), { code: 400 })
  t.strictSame(await posts.share({ at: 1 }), { at: 1 })
  t.strictSame(await posts.patch(1, { title: 1 }), { title: 1 }, 'the map does not name it')
})

t.test('takes what getDataValidator returns', async (t) => {
  const posts = createPosts({ ...getDataValidator(POST) })
  t.strictSame(await posts.create({ title: 'x' }), { title: 'x', likes: 0 })
  t.strictSame(await posts.patch(1, {}), {})
  await t.rejects(posts.patch(1, { title: 1 }), { code: 400 })
})

t.test('validates each item of a list, and says which one is wrong', async (t) => {
  const posts = createPosts(POST)
  const [one, other] = [{ title: 'x' }, { title: 'y', likes: 1 }]
  t.strictSame(await posts.create([one, other]), [{ title: 'x', likes: 0 }, other])
  const wrong = [{ instancePath: '/1/title', keyword: 'type' }]
  await t.rejects(posts.create([one, { title: 1 }, {}]), { code: 400, data: wrong })
  const theirs = feathers.getValidator({ $id: 'P', ...POST }, new feathers.Ajv())
  await t.rejects(createPosts(theirs).create([other, { title: 1, likes: 1 }]), {
    code: 400,
    data: wrong,
  })
})

t.test('puts what a function returns in the place of the data', async (t) => {
  const upper = ({ title }: { title: string }) => ({ title: title.toUpperCase() })
  t.strictSame(await createPosts(upper).create({ title: 'x' }), { title: 'X' })
  t.strictSame(await createPosts({ create: async () => 5 }).create([1, 2]), [5, 5])
  const error = new Error('no')
  await t.rejects(createPosts(() => Promise.reject(error)).create({}), error)
  await t.rejects(
    createPosts(() => undefined).create({}),
    new TypeError('validateData(): the function has returned nothing, in place of the value'),
  )
})

t.test('takes functions of Ajv, and schemas and validators of Feathers', async (t) => {
  const compiled = new Ajv().compile(POST)
  const wrapped = feathers.schema({ $id: 'Wrapped', ...POST })
  const validator = feathers.getValidator({ $id: 'Post', ...POST }, new feathers.Ajv())
  for (const schema of [compiled, wrapped, validator, getValidator(POST)]) {
    const posts = createPosts(schema)
    t.match(await posts.create({ title: 'x', likes: 1 }), { title: 'x', likes: 1 })
    const issue = { instancePath: '/title', keyword: 'type' }
    await t.rejects(posts.create({ title: {}, likes: 1 }), { code: 400, data: [issue] })
  }
})

t.test('takes schemas of other libraries, and the value that they return', async (t) => {
  const schema = z.object({
    title: z.string().trim(),
    author: z.object({ 'a/b~c': z.array(z.number()) }).optional(),
    free: z
      .string()
      .refine(async (name) => name !== 'ann')
      .optional(),
  })
  for (const posts of [createPosts(schema), createPosts({ create: schema })]) {
    t.strictSame(await posts.create({ title: ' x ', other: 1 }), { title: 'x' })
    await t.rejects(posts.create({ title: 'x', author: { 'a/b~c': [1, 'x'] } }), {
      code: 400,
      message: 'validation failed',
      data: [
        {
          instancePath: '/author/a~1b~0c/1',
          schemaPath: '',
          keyword: 'standard',
          params: {},
          message: 'Invalid input: expected number, received string',
        },
      ],
    })
    const issue = { instancePath: '/1/title', keyword: 'standard' }
    await t.rejects(posts.create([{ title: 'x' }, {}]), { code: 400, data: [issue] })
    await t.rejects(posts.create({ title: 'x', free: 'ann' }), {
      code: 400,
      data: [{ instancePath: '/free' }],
    })
  }
})

t.test('works around methods as well', async (t) => {
  const todos = { create: async (data: unknown) => data }
  const app = createApp<{ todos: typeof todos }>().use('todos', todos)
  app.service('todos').hooks({ around: { create: [validateData(POST)] } })
  t.strictSame(await app.service('todos').create({ title: 'x' }), { title: 'x', likes: 0 })
  await t.rejects(app.service('todos').create({}), { code: 400 })
})

t.test('leaves the data of a caller in this process as it is, frozen data too', async (t) => {
  const posts = createPosts(Type.Object({ tags: Type.Array(POST) }))
  const data = Object.freeze({ tags: Object.freeze([Object.freeze({ title: 'x' })]) })
  t.strictSame(await posts.create(data), { tags: [{ title: 'x', likes: 0 }] })
  t.strictSame(data, { tags: [{ title: 'x' }] })
})

t.test('says so when it stands in the wrong place', async (t) => {
  const todos = { create: async (data: unknown) => data }
  const app = createApp<{ todos: typeof todos }>().use('todos', todos)
  app.service('todos').hooks({ after: { create: [validateData(POST)] } })
  const message = 'The validateData hook must be used as a before or an around hook'
  await t.rejects(app.service('todos').create({}), new TypeError(message))
})

t.test('refuses what validates nothing', async (t) => {
  const refused: [schema: unknown, expected: RegExp][] = [
    [undefined, /validateData\(\) needs a JSON Schema, a schema of another library, or a function/],
    ['string', /needs a JSON Schema/],
    [{ create: undefined }, /validateData\(\{ create \}\) needs a JSON Schema/],
    [{ create: POST, remove: POST }, /validateData\(\{ remove \}\): calls of remove have no data/],
    [{ minimum: 5 }, /validateData\(\{ minimum \}\) needs a JSON Schema/],
    [{ type: 'object', create: POST }, /unknown keyword: "create"/],
  ]
  for (const [schema, expected] of refused) {
    t.throws(() => validateData(schema as ValidationInput), { message: expected })
  }
})

const ACCOUNT = Type.Object(
  {
    email: Type.String(),
    profile: Type.Optional(Type.Object({ name: Type.String() }, { additionalProperties: false })),
  },
  { additionalProperties: false },
)
const EXTRA = { role: 'admin', _id: 'x', createdAt: '2026-01-01T00:00:00Z', isVerified: true }

for (const [field, value] of Object.entries(EXTRA)) {
  t.test(`${field} is refused where a closed schema lacks it (MASS-1, MASS-2)`, async (t) => {
    const posts = createPosts({ ...getDataValidator(ACCOUNT), share: ACCOUNT })
    const extra = { [field]: value }
    const params = { additionalProperty: field }
    const issue = { instancePath: '', keyword: 'additionalProperties', params }
    const [email, name] = ['ann@example.org', 'Ann']
    const whole = { email, ...extra }
    await t.rejects(posts.create(whole), { code: 400, data: [issue] })
    await t.rejects(posts.patch(1, extra), { code: 400, data: [issue] })
    await t.rejects(posts.share(whole), { code: 400, data: [issue] })
    const inside = { email, profile: { name, ...extra } }
    const deep = { ...issue, instancePath: '/profile' }
    await t.rejects(posts.create(inside), { code: 400, data: [deep] })
    await t.rejects(posts.patch(1, inside), { code: 400, data: [deep] })
    const item = { ...issue, instancePath: '/1' }
    await t.rejects(posts.create([{ email }, whole]), { code: 400, data: [item] })
    const deepItem = { ...issue, instancePath: '/0/profile' }
    await t.rejects(posts.create([inside]), { code: 400, data: [deepItem] })
  })
}

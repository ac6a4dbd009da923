import t from 'tap'
import { z } from 'zod'
import { authenticate } from '../../../../src/auth/index.ts'
import type { Application, HookContext, ServiceOptions } from '../../../../src/core/index.ts'
import { createApp as createCoreApp } from '../../../../src/core/index.ts'
import {
  querySyntax,
  resolve,
  resolveData,
  Type,
  validateData,
} from '../../../../src/core/schema/index.ts'
import { createApp } from '../../../../src/transport/index.ts'
import { pluck } from '../../../support/pluck.ts'

const Note = Type.Object({ text: Type.String() })
const Stored = Type.Object({ text: Type.String(), at: Type.String() })
const OUTSIDE = { provider: 'rest' }

const notes = {
  find: async (params: object) => [params],
  create: async (data: object) => data,
  patch: async (_id: unknown, data: object) => data,
  greet: async (data: object) => data,
}

function withNotes(options: ServiceOptions, methods: readonly string[] = ['create']): Application {
  return createApp().use('notes', notes, { methods, ...options })
}

const REFUSED: Readonly<Record<string, readonly [options: object, message: RegExp]>> = {
  'an unknown schema': [
    { entry: Note, create: true },
    /unknown option 'entry'; did you mean 'entity'/,
  ],
  'what is no schema': [{ create: 'text' }, /'create' must be a JSON Schema or a Standard Schema/],
  'a record by another library': [
    { entity: z.object({}), create: true },
    /'entity' must be a JSON/,
  ],
  'a word for unknown fields that it does not know': [
    { create: Note, methods: { greet: { data: true } }, unknown: 'ignore' },
    /'unknown' must be 'refuse' or 'drop'/,
  ],
  'to drop what another library checks': [
    { create: z.object({}), methods: { greet: { data: true } }, unknown: 'drop' },
    /'unknown' only applies to JSON Schemas; .* 'create'/,
  ],
  'a method without one': [{ entity: Note }, /lack 'create': name what callers may send, or true/],
  'a patch that can not follow': [{ create: z.object({}) }, /lack 'patch' \(it does not follow/],
  'a custom method without one': [{ create: Note }, /lack the data of 'greet'/],
  'the data of a standard method there': [
    { create: Note, methods: { create: { data: true }, greet: { data: true } } },
    /method 'create': unknown option 'data', allowed are query, result/,
  ],
  'a standard method that callers outside can not call': [
    { create: Note, methods: { find: { query: true }, greet: { data: true } } },
    /the service has no method 'find'/,
  ],
  'an answer that is no object': [
    { create: Note, methods: { create: { result: Type.Array(Note) }, greet: { data: true } } },
    /method 'create': the option 'result' must be the JSON Schema of an object: the whole answer/,
  ],
  'a method that is not there': [
    { create: Note, methods: { meet: { data: true } } },
    /the service has no method 'meet'/,
  ],
  'an unknown name there': [
    { create: Note, methods: { greet: { body: true } } },
    /method 'greet': unknown option 'body'/,
  ],
}

for (const [title, [schemas, message]] of Object.entries(REFUSED)) {
  t.test(`app.use() refuses ${title}`, async (t) => {
    const methods = title.includes('patch') ? ['create', 'patch'] : ['create', 'greet']
    t.throws(() => withNotes({ schemas }, methods), { name: 'TypeError', message })
    t.throws(() => withNotes({ schemas }, methods), /schemas of service 'notes'/)
  })
}

t.test('an application of the core alone refuses them', async (t) => {
  const use = (): unknown => createCoreApp().use('notes', notes, { schemas: { create: Note } })
  t.throws(use, /needs an application made by createApp\(\) of 'remex'/)
})

t.test('the start fails where a schema can not be compiled, and says which', async (t) => {
  const wrong = { type: 'object', properties: { text: { type: 'string', minLengt: 1 } } }
  const message = /the data of 'create' in the schemas of service 'notes'.*minLengt/
  await t.rejects(withNotes({ schemas: { create: wrong } }).setup(), { message })
  const app = withNotes({ schemas: { create: wrong } })
  await t.rejects(app.service('notes').create({}, OUTSIDE), { name: 'TypeError', message })
  await t.rejects(app.service('notes').create({}, OUTSIDE), { message }, 'again')
})

t.test('the start fails at the query of another record and a wrong operator schema', async (t) => {
  const Wrong = Type.Object({ text: Type.String({ format: 'shouting' }) })
  const operators = { text: { $like: Type.String({ format: 'shouting' }) } }
  const message = /the query of 'find' in the schemas of service 'notes'.*shouting/
  for (const query of [querySyntax(Wrong), querySyntax(Note, operators)]) {
    const app = withNotes({ schemas: { entity: Note, query } }, ['find'])
    await t.rejects(app.setup(), { message })
  }
})

t.test('checks a query that follows from its record, with and without conditions', async (t) => {
  for (const schemas of [{ entity: Note }, { entity: Note, query: querySyntax(Note) }]) {
    const service = withNotes({ schemas }, ['find']).service('notes')
    t.match(await service.find({ ...OUTSIDE, query: {} }), [{ query: {} }])
    await t.rejects(service.find({ ...OUTSIDE, query: { title: 'a' } }), { code: 400 })
    await t.rejects(service.find({ ...OUTSIDE, query: { text: { $like: 'a' } } }), { code: 400 })
    const limited = await service.find({ ...OUTSIDE, query: { $limit: '3' } })
    t.match(limited, [{ query: { $limit: 3 } }])
  }
  const query = Type.Object({ text: Type.String() })
  const service = withNotes({ schemas: { entity: Note, query } }, ['find']).service('notes')
  await t.rejects(service.find({ ...OUTSIDE, query: {} }), { code: 400 })
})

t.test('calls before the setup are checked as well', async (t) => {
  const service = withNotes({ schemas: { create: Note } }).service('notes')
  const calls = [{ text: 'a' }, { text: 1 }].map((data) => service.create(data, OUTSIDE))
  const outcomes = await Promise.allSettled(calls)
  t.strictSame(pluck(outcomes, 'status'), ['fulfilled', 'rejected'])
})

t.test('who may not call is told so first', async (t) => {
  const app = withNotes({ schemas: { create: Note } })
  app.service('notes').hooks({ before: { all: [authenticate('jwt')] } })
  const call = app.service('notes').create({ text: 1 }, OUTSIDE)
  await t.rejects(call, { name: 'NotAuthenticated' })
})

t.test('hooks that complete the data run behind the check', async (t) => {
  const complete = resolveData(resolve<{ at: string }, HookContext>({ at: async () => 'now' }))
  for (const hooks of [[complete], [complete, validateData(Stored)]]) {
    const app = withNotes({ schemas: { create: Note } })
    app.service('notes').hooks({ before: { create: hooks } })
    t.strictSame(await app.service('notes').create({ text: 'a' }, OUTSIDE), {
      text: 'a',
      at: 'now',
    })
  }
})

t.test('true takes any data, and no query is allowed where nothing is known', async (t) => {
  const service = withNotes({ schemas: { create: true } }, ['create', 'find']).service('notes')
  t.strictSame(await service.create({ any: 1 }, OUTSIDE), { any: 1 })
  await t.rejects(service.find({ ...OUTSIDE, query: { $limit: '1' } }), { code: 400 })
  t.match(await service.find(OUTSIDE), [{ query: {} }])
})

t.test('a method has a query of its own by the option methods', async (t) => {
  const query = Type.Object({ times: Type.Integer() })
  const schemas = { create: true, methods: { greet: { data: Note, query } } }
  const service = withNotes({ schemas }, ['create', 'greet']).service('notes')
  const greet = (times: string): Promise<unknown> =>
    Reflect.apply(Reflect.get(service, 'greet'), service, [
      { text: 'a' },
      { ...OUTSIDE, query: { times } },
    ])
  t.strictSame(await greet('2'), { text: 'a' })
  await t.rejects(greet('many'), { code: 400, data: [{ instancePath: '/times' }] })
})

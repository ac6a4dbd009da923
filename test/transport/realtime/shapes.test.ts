import type { Document, ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { protect } from '../../../src/auth/index.ts'
import type { HookContext, NextFunction } from '../../../src/core/index.ts'
import {
  DateSchema,
  resolve,
  resolveExternal,
  resolveResult,
  Type,
  virtual,
} from '../../../src/core/schema/index.ts'
import { openDatabase } from '../../support/database.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('people')
const paginate = { default: 10 }
const hidden = ['password']

const server = await startLiveServer(t, (app) => {
  const add = (path: string, hooks: object, options: object = {}): void => {
    app.use(path, new MongoDBService({ Model, hidden, ...options }))
    app.service(path).hooks(hooks)
  }
  add('plain', {}, { paginate })
  add('protected', { after: { all: [protect('salary')] } }, { paginate })
  const resolver = resolve<Document, HookContext>({
    label: virtual(async ({ name }, { params }) => `${name} for ${params.headers?.['x-caller']}`),
    salary: async () => undefined,
  })
  add('resolved-around', { around: { all: [resolveResult(resolver)] } }, { paginate })
  const external = resolve<Document, HookContext>({ age: async () => undefined })
  add('resolved-outside', { around: { all: [resolveExternal(external)] } })
  const mark = ({ result: found, params }: HookContext): void => {
    for (const record of found as unknown as Document[])
      record['for'] = params.headers?.['x-caller']
  }
  add('marked', { after: { find: [mark] } })
  const dispatch = async (context: HookContext, next: NextFunction): Promise<void> => {
    await next()
    const records = context.result as unknown as Document[]
    context.dispatch = records.map(({ name, _id }) => ({ _id, name: `outside ${name}` })) as never
  }
  add('dispatched', { around: { find: [dispatch] } })
  const result = Type.Object({ _id: Type.Any(), name: Type.String(), born: DateSchema() })
  const schemas = { result, create: true, update: true, patch: true } as const
  app.use('result', new MongoDBService({ Model, hidden, paginate }), { schemas })
  // Of nothing that the hooks of other methods do anything is seen.
  for (const path of ['plain', 'result', 'protected']) {
    app.service(path).hooks({
      after: {
        patch: [
          ({ result: patched }: HookContext) =>
            void Object.assign(patched as unknown as object, { leaked: true }),
        ],
      },
    })
  }
})

const CALLER = { 'x-caller': 'Ann' }
const PERSON = {
  name: 'a',
  born: new Date('1990-01-02'),
  password: 'secret',
  salary: 1,
  age: 30,
  role: 'chief',
}

function listOf(body: unknown): Document[] {
  return Array.isArray(body) ? body : (body as { data: Document[] }).data
}

t.beforeEach(() => empty('people'))

const QUERIES = {
  plain: ['', '?$select[]=name', '?$select[]=name&$select[]=age', '?role=chief'],
  protected: ['', '?$select[]=salary'],
  'resolved-around': ['', '?$select[]=name'],
  'resolved-outside': ['', '?$select[]=age'],
  marked: [''],
  dispatched: [''],
  result: ['', '?$select[]=name'],
}

for (const [path, queries] of Object.entries(QUERIES)) {
  for (const query of queries) {
    t.test(`what is sent is what find sends: /${path}${query}`, async (t) => {
      const service = server.app.service(path)
      const asked = `/${path}${query}`
      const ask = async () => (await server.request(asked, { headers: CALLER })).body
      const stream = await server.open(asked, CALLER)
      t.strictSame((await stream.next()).data, await ask())
      const { _id } = (await service.create({ ...PERSON })) as { _id: ObjectId }
      t.strictSame((await stream.next()).data, listOf(await ask())[0])
      await service.patch(_id, { name: 'b' })
      const patched = await stream.next()
      t.strictSame(patched.data, listOf(await ask())[0])
      await service.update(_id, { ...PERSON, name: 'c' })
      t.strictSame((await stream.next()).data, listOf(await ask())[0])
      const [shown] = listOf(await ask())
      await service.remove(_id)
      const removed = await stream.next()
      t.equal(removed.event, 'removed')
      t.strictSame(removed.data, shown)
      t.notMatch(JSON.stringify(stream.frames), /secret|leaked/)
    })
  }
}

t.test('a snapshot and frames have the same form for each caller', async (t) => {
  const [ann, ben] = await Promise.all([
    server.open('/resolved-around', CALLER),
    server.open('/resolved-around', { 'x-caller': 'Ben' }),
  ])
  await Promise.all([ann.next(), ben.next()])
  await server.app.service('plain').create({ ...PERSON })
  await server.app.service('resolved-around').create({ ...PERSON, name: 'x' })
  t.match((await ann.next()).data, { label: 'x for Ann' })
  t.match((await ben.next()).data, { label: 'x for Ben' })
})

t.test('what a removal answers does not decide who hears of it', async (t) => {
  const service = server.app.service('plain')
  const create = async (name: string) =>
    ((await service.create({ ...PERSON, name })) as { _id: ObjectId })._id
  const ids = [await create('a'), await create('b')] as const
  const stream = await server.open('/plain?role=chief&$limit=0')
  await stream.next()
  await service.remove(ids[0], { query: { $select: ['age'] } })
  t.match(await stream.next(), { event: 'removed', data: { name: 'a', _id: `${ids[0]}` } })
  const cut = (context: HookContext): void => {
    for (const name of ['role', 'name']) delete (context.result as unknown as Document)[name]
  }
  service.hooks({ after: { remove: [cut] } })
  await service.remove(ids[1])
  t.match(await stream.next(), { event: 'removed', data: { name: 'b', role: 'chief' } })
  const replace = (context: HookContext): void => {
    context.result = { _id: (context.result as unknown as Document)['_id'], role: 'chief' } as never
  }
  service.hooks({ after: { remove: [replace] } })
  const [known, unknown] = [await create('known'), ids[0]]
  await Model.insertOne({ ...PERSON, _id: unknown, name: 'unknown' })
  await service.remove(unknown)
  await service.remove(known)
  const lines = await linesSoFar(stream, service, { role: 'chief' })
  t.strictSame(lines, ['created known', `removed ${known}`], 'nobody knows what the other one was')
})

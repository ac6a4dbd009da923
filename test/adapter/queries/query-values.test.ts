import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { protect } from '../../../src/auth/index.ts'
import { Type } from '../../../src/core/schema/index.ts'
import type { Application, Hook } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import { createLogger } from '../../core/recording-logger.ts'
import { openDatabase } from '../../support/database.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const HEX = '507f1f77bcf86cd799439011'

interface TestScope {
  teardown(close: () => unknown): void
}

function setProduction(t: TestScope): void {
  const { NODE_ENV } = process.env
  process.env['NODE_ENV'] = 'production'
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = NODE_ENV
  })
}

/** Starts an application that logs to the given logger; returns its warnings. */
async function start(t: TestScope, build: (app: Application) => void) {
  const app = fastifyApp(createApp()).configure(rest())
  t.teardown(() => app.close())
  const logger = createLogger()
  app.logger = logger
  build(app)
  await app.fastify.ready()
  return { app, listWarnings: () => logger.entries.map(({ message = '' }) => message) }
}

t.test('the start warns of services that nothing converts values for', async (t) => {
  const create = () => new MongoDBService({ Model: idleCollection })
  const convert: Hook = () => undefined
  class Converting extends MongoDBService {
    override find: MongoDBService['find'] = () => Promise.resolve([] as never)
  }
  const { listWarnings } = await start(t, (app) => {
    app.use('plain', create())
    app.use('protected', create())
    app.service('protected').hooks({ around: { all: [protect('secret')] } })
    app.use('inside', create(), { methods: ['create'] })
    app.use('before', create())
    app.service('before').hooks({ before: { find: convert } })
    app.use('around', create())
    app.service('around').hooks({ around: { all: [(_context, next) => next()] } })
    app.use('short', create())
    app.service('short').hooks([(_context, next) => next()])
    app.use('own', new Converting({ Model: idleCollection }))
    app.use('other', { find: async () => [] })
    app.hooks({ around: [(_context, next) => next()] })
  })
  const text =
    /^Values in URLs are strings, and nothing converts them for the services 'plain', 'protected':/
  t.equal(listWarnings().length, 1)
  t.match(listWarnings()[0], text)
})

t.test('the start is silent where one hook converts for all, and in production', async (t) => {
  const plain = (app: Application): unknown =>
    app.use('plain', new MongoDBService({ Model: idleCollection }))
  const one = await start(t, (app) => {
    plain(app)
    app.hooks({ before: { find: [() => undefined] } })
  })
  t.strictSame(one.listWarnings(), [])
  setProduction(t)
  t.strictSame((await start(t, plain)).listWarnings(), [])
})

t.test(
  'a query that finds nothing tells which strings may be meant as something else',
  async (t) => {
    const Model = await (await openDatabase(t)).empty('values')
    await Model.insertOne({ name: 'Lamp', price: 5 })
    const { app, listWarnings } = await start(t, (app) => {
      app.use('values', new MongoDBService({ Model, paginate: { default: 5, max: 5 } }))
      app.service('values').hooks({ before: { find: [() => undefined] } })
    })
    const ask = async (query: string): Promise<readonly string[]> => {
      const before = listWarnings().length
      await app.fastify.inject(`/values?${query}`)
      return listWarnings().slice(before)
    }
    t.strictSame(await ask('name=Lamp&$limit=1'), [], 'it has found something')
    t.strictSame(
      await ask('name=Chair&$limit=1&$skip=2&$sort[name]=1'),
      [],
      'a string as any other',
    )
    t.strictSame(await ask(`_id=${HEX}`), [], 'the service converts it')
    const [price = ''] = await ask('price=5')
    t.equal(
      price,
      "A query of 'values' found nothing. Values in URLs are strings until a hook converts them, and it compares 'price' with one that looks like a number: see 'Values in queries' in docs/mongodb.md",
    )
    t.strictSame(await ask('price=5'), [], 'it is told once')
    const [others = ''] = await ask(
      `$or[0][sold]=false&$or[1][maker.id][$in][]=${HEX}&price=5&addedAt[$gt]=2026-01-31`,
    )
    t.match(
      others,
      "'sold' with one that looks like a boolean, 'maker.id' with one that looks like an ObjectId, 'addedAt' with one that looks like a date",
    )
    t.notMatch(others, /'price'|2026|507f/, 'neither what was told nor values')
    t.strictSame(await ask('rank=7&$limit=0'), [], 'a query that only counts')
    t.strictSame(await ask('rank=7&$skip=9'), [], 'a page beyond the last one')
    const odd = encodeURIComponent(`a\n\u001b[31m${'x'.repeat(9_000)}`)
    const [oddName = ''] = await ask(`${odd}=7`)
    t.ok(oddName.length < 400 && !/[^\x20-\x7e]/.test(oddName), 'a name is cut and printable')
    await app.service('values').find({ query: { count: '7' } })
    t.equal(listWarnings().length, 3, 'calls inside the process mean what they say')
    for (let index = 0; index < 30; index += 1) await ask(`field${index}=7`)
    t.ok(listWarnings().length <= 20, 'strangers can not fill the log')
    setProduction(t)
    t.strictSame(await ask('sold_at=2026-01-31'), [])
  },
)

t.test('strings are what they are where a service has schemas', async (t) => {
  const Model = await (await openDatabase(t)).empty('values')
  const entity = Type.Object({ name: Type.String(), price: Type.Number() })
  const { app, listWarnings } = await start(t, (app) => {
    const service = new MongoDBService({ Model, paginate: { default: 5, max: 5 } })
    app.use('values', service, { methods: ['find'], schemas: { entity } })
  })
  await app.fastify.ready()
  const { statusCode, payload } = await app.fastify.inject('/values?name=7&price=5')
  t.match({ statusCode, payload }, { statusCode: 200, payload: '"total":0' })
  t.strictSame(listWarnings(), [])
})

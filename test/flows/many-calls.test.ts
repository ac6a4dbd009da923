import { getEventListeners } from 'node:events'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import type { MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createProviderFetch } from '../../src/auth/oauth/provider/provider-fetch.ts'
import { WorkQueue } from '../../src/auth/work-queue.ts'
import type { Params } from '../../src/transport/index.ts'
import { startProvider } from '../auth/oauth/provider/fake-provider.ts'
import { Gate } from '../support/gate.ts'
import type { TestScope } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'
import { laterTurns } from '../support/until.ts'

const CALLS = 100

/** Returns what Node has warned of since, after everything has had its turn. */
function collectWarnings(t: TestScope): () => Promise<string[]> {
  const warnings: string[] = []
  const add = ({ name }: Error): unknown => warnings.push(name)
  process.on('warning', add)
  t.teardown(() => process.off('warning', add))
  return async () => {
    await laterTurns()
    return warnings
  }
}

async function openPeople(t: TestScope): Promise<MongoDBService> {
  const embedded = await startEmbeddedMongo()
  t.teardown(() => embedded.close())
  const client = await MongoClient.connect(embedded.url)
  t.teardown(() => client.close())
  const Model = client.db('a').collection('people')
  await Model.insertMany([{ age: 1 }, { age: 2 }, { age: 3 }])
  return new MongoDBService({ Model, paginate: false })
}

const READS: Readonly<Record<string, (people: MongoDBService, params: MongoDBParams) => unknown>> =
  {
    find: (people, params) => people._find(params),
    countDocuments: (people, params) => people.countDocuments(params),
    findRaw: async (people, params) => (await people.findRaw(params)).toArray(),
    aggregateRaw: async (people, params) => {
      const cursor = await people.aggregateRaw({ ...params, pipeline: [{ $count: 'n' }] })
      for await (const _record of cursor) await cursor.close()
    },
  }

for (const [name, read] of Object.entries(READS)) {
  t.test(`MongoDB: ${CALLS} calls with one signal leave it as it was, ${name}`, async (t) => {
    const people = await openPeople(t)
    const readWarnings = collectWarnings(t)
    for (const place of ['params', 'docdb']) {
      const { signal } = new AbortController()
      const params = place === 'params' ? { signal } : { docdb: { signal } }
      const calls = Array.from({ length: CALLS }, () => read(people, { ...params }))
      await Promise.all(calls)
      t.equal(getEventListeners(signal, 'abort').length, 0, place)
    }
    t.strictSame(await readWarnings(), [])
  })

  t.test(`MongoDB: an abort ends them all, ${name}`, async (t) => {
    const people = await openPeople(t)
    const controller = new AbortController()
    const { signal } = controller
    const calls = Array.from({ length: CALLS }, async () => read(people, { signal }))
    const settled = Promise.allSettled(calls)
    controller.abort(new Error('gone'))
    const failed = (await settled).filter(({ status }) => status === 'rejected')
    t.equal(failed.length, CALLS)
    t.equal(getEventListeners(signal, 'abort').length, 0)
  })
}

t.test('a request may hand its signal to 100 calls', async (t) => {
  const people = await openPeople(t)
  const signals: AbortSignal[] = []
  const readWarnings = collectWarnings(t)
  const server = await startOwnServer(t, (app) => {
    app.use('people', people as never)
    app.use('reports', {
      async find({ signal }: Params) {
        const service = app.service('people')
        const params = { signal } as Params
        const calls = Array.from({ length: CALLS }, () => service.find(params) as unknown)
        const lists = (await Promise.all(calls)) as unknown[]
        signals.push(signal as AbortSignal)
        return lists.length
      },
    })
  })
  t.match(await server.request('/reports'), { status: 200, body: CALLS })
  t.strictSame(
    signals.map((signal) => getEventListeners(signal, 'abort').length),
    [0],
  )
  t.strictSame(await readWarnings(), [])
})

t.test('100 requests to a provider, or tasks of a queue, may have one signal', async (t) => {
  const provider = await startProvider(t, (_request, reply) => void reply.end('{}'))
  const readWarnings = collectWarnings(t)
  const own = new AbortController().signal
  // Longer than a slow machine takes for so many connections.
  const fetchProvider = createProviderFetch({ allowPrivateNetwork: true, timeoutMs: 60_000 })
  const asked = Array.from({ length: CALLS }, () => fetchProvider(provider.origin, { signal: own }))
  const queue = new WorkQueue(2, CALLS)
  const gate = new Gate()
  const tasks = Array.from({ length: CALLS }, () => queue.run(() => gate.pass(), { signal: own }))
  t.equal(getEventListeners(own, 'abort').length, 1)
  gate.open()
  await Promise.all([...asked, ...tasks])
  t.equal(getEventListeners(own, 'abort').length, 0)
  t.strictSame(await readWarnings(), [])
})

import type { Document, ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import type { HookContext, NextFunction } from '../../../src/core/index.ts'
import { Forbidden } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { laterTurns } from '../../support/until.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')
const red = { team: 'red' }

/** Which hooks the service has; each test names its own. */
let hook: (context: HookContext) => unknown = () => undefined
let around = async (_context: HookContext, next: NextFunction): Promise<void> => next()

const server = await startLiveServer(
  t,
  (app) => {
    app.use('tasks', new MongoDBService({ Model, hidden: ['password'] }))
    app.service('tasks').hooks({
      around: { find: [(context: HookContext, next: NextFunction) => around(context, next)] },
      before: { find: [(context: HookContext) => hook(context)] },
      error: {
        find: [
          (context: HookContext) => {
            if (/nothing/.test(`${context.error}`)) context.result = [] as never
          },
        ],
      },
    })
    app.use('asked', new MongoDBService({ Model }))
    app.service('asked').hooks({ before: { find: [(context: HookContext) => hook(context)] } })
  },
  { realtime: { recheckMs: 20 } },
)
const tasks = server.app.service('tasks')

async function create(data: object): Promise<ObjectId> {
  return ((await tasks.create(data as never)) as unknown as { _id: ObjectId })._id
}

t.beforeEach(() => {
  hook = () => undefined
  around = async (_context, next) => next()
  return empty('tasks')
})

const ANSWERS_ITSELF: Readonly<Record<string, () => void>> = {
  'a before hook': () => {
    hook = (context) => {
      context.result = [] as never
    }
  },
  'an around hook': () => {
    around = async (context) => {
      context.result = [] as never
    }
  },
  'an error hook': () => {
    hook = () => {
      throw new Error('nothing for you')
    }
  },
}

for (const [who, install] of Object.entries(ANSWERS_ITSELF)) {
  t.test(`where ${who} answers in place of find, the stream has only that answer`, async (t) => {
    install()
    t.match(await server.request('/tasks'), { status: 200, body: [] })
    const stream = await server.open('/tasks')
    const id = await create({ ...red, name: 'a', password: 'secret' })
    await tasks.remove(id)
    await laterTurns()
    for (const { event, data } of stream.frames) t.strictSame([event, data], ['snapshot', []])
  })

  t.test(`where ${who} begins to answer in its place, the stream sends that answer`, async (t) => {
    const id = await create({ ...red, name: 'a', password: 'secret' })
    const stream = await server.open('/tasks')
    await stream.next()
    install()
    const frames = await stream.upTo(({ event }) => event === 'snapshot')
    t.strictSame(frames.at(-1)?.data, [])
    const before = stream.frames.length
    await tasks.remove(id)
    await laterTurns()
    for (const { event, data } of stream.frames.slice(before)) {
      t.strictSame([event, data], ['snapshot', []])
    }
  })
}

t.test('what a before hook adds to the query of each call stays secret', async (t) => {
  const added: unknown[] = []
  hook = ({ params }) => {
    params.query = { ...params.query, tenant: 'acme' }
    added.push(params.query)
  }
  const asked = server.app.service('asked')
  const stream = await server.open('/asked?team=red')
  await stream.next()
  await asked.create({ ...red, tenant: 'other', name: 'x' } as never)
  await asked.create({ ...red, tenant: 'acme', name: 'y' } as never)
  t.match(await stream.next(), { data: { name: 'y' } })
  t.ok(added.every((query) => (query as Document)['team'] === 'red'))
})

t.test('a hook that adds conditions does so once for each call', async (t) => {
  const seen: string[] = []
  hook = ({ params }) => {
    const query = params.query as Document
    query['$and'] = [...(query['$and'] ?? []), { tenant: 'acme' }]
    seen.push(JSON.stringify(query))
  }
  const stream = await server.open('/tasks?team=red')
  await stream.next()
  for (const name of ['a', 'b', 'c']) await create({ ...red, tenant: 'acme', name })
  t.strictSame(await linesSoFar(stream, tasks, { ...red, tenant: 'acme' }), [
    'created a',
    'created b',
    'created c',
  ])
  t.equal(new Set(seen).size, 1, seen.join('\n'))
})

t.test('the caller reads no condition in an error of his stream', async (t) => {
  const stream = await server.open('/tasks?team=red')
  await stream.next()
  hook = ({ params }) => {
    params.query = { ...params.query, tenant: { $unknown: 'secret of the hook' } }
  }
  const end = await stream.upTo(({ event }) => event === 'end')
  t.notMatch(JSON.stringify(end), /secret of the hook/)
})

t.test('a hook that throws for one subscriber ends that stream alone', async (t) => {
  hook = ({ params }) => {
    if (params.headers?.['x-caller'] === 'ben' && failing) throw new Error('secret text')
  }
  let failing = false
  const [ann, ben] = await Promise.all([
    server.open('/tasks?team=red', { 'x-caller': 'ann' }),
    server.open('/tasks?team=red', { 'x-caller': 'ben' }),
  ])
  await Promise.all([ann.next(), ben.next()])
  failing = true
  await create({ ...red, name: 'a' })
  const frames = await ben.upTo(({ event }) => event === 'end')
  t.notMatch(JSON.stringify(frames), /secret text/)
  t.match(frames.at(-1), { data: { reason: 'closing' } })
  t.strictSame(await ben.rest(), [])
  t.strictSame(await linesSoFar(ann, tasks, red), ['created a'])
  t.ok(server.logged.some(({ message }) => message === 'A stream has failed'))
})

t.test('a hook that forbids ends the stream with what it says', async (t) => {
  const stream = await server.open('/tasks?team=red')
  await stream.next()
  hook = () => {
    throw new Forbidden('Not any more')
  }
  t.match(await stream.next(), {
    event: 'end',
    data: { reason: 'refused', message: 'Not any more' },
  })
  t.strictSame(await stream.rest(), [])
})

t.test('hooks that make something else than the record do not pass it on', async (t) => {
  const stream = await server.open('/tasks?team=red')
  await stream.next()
  around = async (context, next) => {
    await next()
    context.result = [{ name: 'one' }, { name: 'two' }] as never
  }
  await create({ ...red, name: 'a' })
  t.strictSame(toLines(await stream.upTo(({ event }) => event === 'end')), ['end'])
})

t.test('hooks that are added later count', async (t) => {
  const app = await startLiveServer(t, (one) => one.use('late', new MongoDBService({ Model })))
  const late = app.app.service('late')
  const stream = await app.open('/late')
  await stream.next()
  late.hooks({
    after: {
      find: [
        ({ result }: HookContext) => {
          for (const record of result as unknown as Document[]) record['name'] = 'changed'
        },
      ],
    },
  })
  await late.create({ name: 'a' } as never)
  t.match(await stream.next(), { event: 'created', data: { name: 'changed' } })
})

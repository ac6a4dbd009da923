import t from 'tap'
import { protect } from '../../../src/auth/index.ts'
import { Application, createApp, toExternalForm } from '../../../src/core/index.ts'
import { external } from '../login-app.ts'

class Plain {}

class Stored {
  readonly name = 'x'
  readonly secret = 'y'
  toJSON() {
    return { name: this.name, secret: this.secret }
  }
}

function start(result: unknown, fields: string[], kind: 'after' | 'around' = 'after') {
  const app = createApp()
  const dispatches: unknown[] = []
  const events: unknown[] = []
  app.use('things', {
    find: async () => result,
    get: async () => result,
    create: async () => result,
  })
  const things = app.service('things')
  things.hooks([
    async (context, next) => {
      await next()
      dispatches.push(context.dispatch)
    },
  ])
  things.hooks({ [kind]: { all: [protect(...fields)] } })
  things.on('created', (data) => events.push(data))
  return { things, dispatches, events }
}

t.test('is no hook itself, inside of a hook of another package for example', async (t) => {
  const app = new Application()
  app.use('things', { get: async () => ({ password: 'hash' }) })
  const things = app.service('things')
  things.hooks({ after: { get: [protect] } } as object)
  await t.rejects(things.get(1, external()), { message: /protect\('password'\)/ })
})

t.test('takes fields from what external callers get, results and events (MASS-3)', async (t) => {
  const stored = { id: 1, password: 'hash', deep: { token: 't', kept: 1 } }
  const visible = { id: 1, deep: { kept: 1 } }
  const page = { total: 1, limit: 1, skip: 0, data: [stored] }
  const fields = ['password', 'deep.token']
  for (const kind of ['after', 'around'] as const) {
    const { things, events } = start(stored, fields, kind)
    t.strictSame(await things.get(1, external()), visible)
    t.strictSame(await things.create({}, external()), visible)
    t.strictSame(events, [visible])
    const list = start([stored, stored], fields, kind)
    t.strictSame(await list.things.find(external()), [visible, visible])
    const paged = start(page, fields, kind)
    t.strictSame(await paged.things.find(external()), { ...page, data: [visible] })
  }
  t.strictSame(stored, { id: 1, password: 'hash', deep: { token: 't', kept: 1 } })
})

t.test('sets what is sent for internal calls too, which get everything (BOLA-6)', async (t) => {
  const stored = { id: 1, password: 'hash' }
  const { things, dispatches } = start(stored, ['password'])
  t.equal(await things.get(1), stored)
  t.strictSame(dispatches, [{ id: 1 }])
})

t.test('starts from what earlier hooks set as dispatch', async (t) => {
  const { things, dispatches } = start({ id: 1, a: 1, b: 2 }, ['a'])
  things.hooks({ after: { all: [protect('b')] } })
  await things.get(1)
  t.strictSame(dispatches, [{ id: 1 }])
})

t.test('looks into arrays and plain objects, and makes others plain by their toJSON', async (t) => {
  const date = new Date(0)
  const { things } = start({ date, items: [{ secret: 1, kept: 2 }, 'text', null] }, [
    'items.secret',
  ])
  t.strictSame(await things.get(1, external()), { date, items: [{ kept: 2 }, 'text', null] })
  const instance = start(new Stored(), ['secret'])
  t.strictSame(await instance.things.get(1, external()), { name: 'x' })
  for (const value of [null, undefined, 'text', 0, date]) {
    t.equal(await start(value, ['secret']).things.get(1, external()), value)
  }
})

/** Results that are no plain objects, and what callers outside get. */
const OF_CLASSES: readonly [title: string, result: unknown, visible: unknown][] = [
  ['an object of a class', Object.assign(new Plain(), { secret: 1, kept: 2 }), { kept: 2 }],
  ['a list that toJSON makes', { toJSON: () => [{ secret: 1, kept: 2 }] }, [{ kept: 2 }]],
  ['a page that toJSON makes', { toJSON: () => ({ data: [{ secret: 1 }] }) }, { data: [{}] }],
  ['a page of a class', Object.assign(new Plain(), { data: [{ secret: 1 }] }), { data: [{}] }],
]

for (const [title, result, visible] of OF_CLASSES) {
  t.test(`takes fields from ${title} (MASS-3)`, async (t) => {
    const { things, dispatches } = start(result, ['secret'])
    t.same(await things.find(external()), visible)
    t.equal(await things.find(), result)
    t.same(dispatches, [visible, visible])
    t.same(toExternalForm([result]), [visible])
  })
}

t.test('leaves bytes as they are, and objects of a class without such a field', async (t) => {
  const { things } = start(new Plain(), ['secret'])
  t.ok((await things.get(1, external())) instanceof Plain)
  const bytes = Buffer.from('bytes')
  t.equal(await start(bytes, ['secret']).things.get(1, external()), bytes)
})

t.test('takes `data` for a page only in results of find', async (t) => {
  const result = { data: [{ secret: 1 }], secret: 2 }
  const { things } = start(result, ['secret'])
  t.strictSame(await things.get(1, external()), { data: [{ secret: 1 }] })
})

t.test('is an after or an around hook with at least one field', async (t) => {
  t.throws(() => protect(), /at least one field/)
  const { things } = start({}, ['x'])
  things.hooks({ before: { get: [protect('x')] } })
  await t.rejects(things.get(1), { message: /an after or an around hook/ })
})

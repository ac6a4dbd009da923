import t from 'tap'
import { protect } from '../../src/auth/index.ts'
import { createApp } from '../../src/core/index.ts'
import { external } from './login-app.ts'

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

t.test(
  'MASS-3: takes fields from what callers outside get, results and events alike',
  async (t) => {
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
  },
)

t.test(
  'BOLA-6: sets what is sent outside on internal calls too, which get everything',
  async (t) => {
    const stored = { id: 1, password: 'hash' }
    const { things, dispatches } = start(stored, ['password'])
    t.equal(await things.get(1), stored)
    t.strictSame(dispatches, [{ id: 1 }])
  },
)

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

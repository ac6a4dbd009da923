import t from 'tap'
import type { Hook } from '../../../src/core/index.ts'
import { Type } from '../../../src/core/schema/index.ts'
import { createApp } from '../../../src/transport/index.ts'
import { until } from '../../support/until.ts'
import { createLogger } from '../recording-logger.ts'

const entity = Type.Object({
  _id: Type.Number(),
  tenant: Type.String(),
  at: Type.Optional(Type.String({ format: 'date-time' })),
})
const create = Type.Object({ tenant: Type.String() })

async function start(hook: Hook) {
  const app = createApp()
  const logger = createLogger()
  app.logger = logger
  let calls = 0
  const store = async (data: object): Promise<object> => {
    calls += 1
    return { _id: 1, at: new Date(0), extra: calls, ...data }
  }
  const service = {
    create: async (data: object | object[]) =>
      Array.isArray(data) ? Promise.all(data.map(store)) : store(data),
    patch: async (_id: unknown, data: object) => store({ tenant: 'a', ...data }),
  }
  app.use('notes', service, { schemas: { entity, create } })
  app.service('notes').hooks({ before: { all: [hook] } })
  await app.setup()
  return { notes: app.service('notes'), entries: logger.entries }
}

const forget: Hook = (context) => {
  context.data = { text: 'new' } as never
}
const keep: Hook = () => undefined

t.test('warns once for a service of a stored record that breaks its schema', async (t) => {
  const { notes, entries } = await start(forget)
  await notes.create({ tenant: 'a' }, { provider: 'rest' })
  await until(() => entries.length > 0)
  await notes.create({ tenant: 'a' })
  await notes.create({ tenant: 'a' })
  const message =
    /^'create' of 'notes' stored a record that breaks .* must have required property 'tenant'/
  t.match(entries, [{ level: 'warn', details: { service: 'notes', method: 'create' }, message }])
  t.equal(entries.length, 1)
})

t.test('warns of one record of a list, and of a patch', async (t) => {
  const list = await start(keep)
  await list.notes.create([{ tenant: 'a' }, { tenant: 5 }])
  await until(() => list.entries.length > 0)
  t.match(list.entries, [{ message: /the record\/tenant must be string/ }])
  const patched = await start(keep)
  await patched.notes.patch(1, { tenant: null })
  await until(() => patched.entries.length > 0)
  t.match(patched.entries, [{ message: /'patch' of 'notes'/ }])
})

t.test('warns neither of whole records, nor of parts of them', async (t) => {
  const { notes, entries } = await start(keep)
  await notes.create({ tenant: 'a' })
  await notes.create({ text: 'part' }, { query: { $select: ['text'] } })
  await notes.create({ text: 'part' }, { pipeline: [] } as object)
  await notes.create({ tenant: 5 })
  await until(() => entries.length > 0)
  t.match(entries, [{ message: /the record\/tenant must be string/ }])
  t.equal(entries.length, 1)
})

t.test('nothing looks at records with NODE_ENV=production', async (t) => {
  const former = process.env['NODE_ENV']
  process.env['NODE_ENV'] = 'production'
  t.teardown(() => {
    if (former === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = former
  })
  const { notes, entries } = await start(keep)
  let reads = 0
  await notes.create({
    tenant: 5,
    toJSON() {
      reads += 1
      return {}
    },
  })
  t.strictSame([entries, reads], [[], 0])
})

t.test('checks the first hundred calls, and then one in a hundred', async (t) => {
  const { notes, entries } = await start(keep)
  for (let call = 0; call < 100; call += 1) await notes.create({ tenant: 'a' })
  for (let call = 0; call < 99; call += 1) await notes.patch(1, { tenant: null })
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(entries, [])
  await notes.patch(1, { tenant: null })
  await until(() => entries.length > 0)
  t.match(entries, [{ message: /'patch' of 'notes'/ }])
})

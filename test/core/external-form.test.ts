import t from 'tap'
import {
  addExternalForm,
  copyExternalForms,
  createApp,
  toExternalForm,
} from '../../src/core/index.ts'

/** Where `resolveExternal` of Feathers keeps what it made of a record. */
const DISPATCH = Symbol.for('@feathersjs/schema/dispatch')

interface Item {
  readonly id: number
  readonly hidden?: number
  readonly extra?: number
}

const hide = (record: unknown): unknown => {
  const { hidden: _hidden, ...shown } = record as Item
  return shown
}

const hideExtra = (record: unknown): unknown => {
  const { extra: _extra, ...shown } = record as Item
  return shown
}

/** Sets what Feathers does, in the way it does it. */
function setDispatch(record: object, dispatch: unknown): object {
  return Object.defineProperty(record, DISPATCH, { value: dispatch })
}

// First, as long as this process knows of no such record.
t.test('a page of such records is enough to know of them (BOLA-6)', async (t) => {
  const item = { id: 1, hidden: 2 }
  setDispatch(item, { id: 1 })
  const app = createApp()
  app.use('pages', { find: async () => ({ total: 1, limit: 1, skip: 0, data: [item] }) })
  app.service('pages').hooks({
    after: {
      find: (context) => {
        context.dispatch = {}
      },
    },
  })
  await app.service('pages').find()
  t.strictSame(toExternalForm({ item }), { item: { id: 1 } })
})

t.test('a value without such records is returned itself, whatever it is', async (t) => {
  addExternalForm({}, hide)
  const bytes = Buffer.from('x')
  for (const value of [undefined, null, 0, '', 'text', {}, [], new Date(0), bytes, new Map()]) {
    t.equal(toExternalForm(value), value)
  }
  const answer = { list: [{ date: new Date(0), bytes, none: null }], toJSON: undefined }
  t.equal(toExternalForm(answer), answer)
})

t.test('only what holds such a record is copied', async (t) => {
  const record = { id: 1, hidden: 2 }
  const other = { list: [1] }
  addExternalForm(record, hide)
  const answer = { other, list: [other, { record }] }
  const external = toExternalForm(answer) as typeof answer
  t.strictSame(external, { other, list: [other, { record: { id: 1 } }] })
  t.equal(external.other, other)
  t.equal(external.list[0], other)
  t.strictSame(answer, { other, list: [other, { record: { id: 1, hidden: 2 } }] })
})

t.test('forms are applied in their order, each once, and passed on to copies', async (t) => {
  const record = { id: 1, hidden: 2, extra: 3 }
  addExternalForm(record, hide)
  addExternalForm(record, hide)
  const copy = { ...record, id: 2 }
  copyExternalForms(record, copy)
  addExternalForm(record, hideExtra)
  t.strictSame(toExternalForm([record, copy]), [{ id: 1 }, { id: 2, extra: 3 }])
  copyExternalForms({}, {})
})

t.test('records in a form are replaced as well, and keys keep their meaning', async (t) => {
  const inner = { id: 2, hidden: 3 }
  const outer = JSON.parse('{"__proto__":{"polluted":1},"id":1,"hidden":2}') as object
  addExternalForm(inner, hide)
  addExternalForm(outer, (record) => ({ ...(hide(record) as object), inner }))
  const external = toExternalForm({ outer }) as { outer: object }
  t.equal(
    JSON.stringify(external),
    JSON.stringify({ outer: { ...outer, hidden: undefined, inner: { id: 2 } } }),
  )
  t.equal(Object.getPrototypeOf(external.outer), Object.prototype)
})

t.test('a form may be nothing, a text or what toJSON makes of it', async (t) => {
  const forms: readonly [form: unknown, sent: unknown][] = [
    [undefined, undefined],
    [null, null],
    ['text', 'text'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [Uint8Array.of(1), Uint8Array.of(1)],
  ]
  for (const [form, sent] of forms) {
    const record = { id: 1 }
    addExternalForm(record, () => form)
    t.strictSame(toExternalForm({ record }), { record: sent })
  }
})

t.test('a circle is still no JSON, unless a form breaks it', async (t) => {
  const circle: Record<string, unknown> = { id: 1 }
  circle['hidden'] = [circle]
  t.throws(() => toExternalForm(circle), RangeError)
  addExternalForm(circle, hide)
  t.strictSame(toExternalForm({ circle }), { circle: { id: 1 } })
})

t.test('what resolveExternal of Feathers made of a record is sent too (BOLA-6)', async (t) => {
  const app = createApp()
  const stored = { id: 1, hidden: 2, extra: 3 }
  app.use('items', { get: async () => ({ ...stored }) })
  const items = app.service('items')
  items.hooks([
    async (context, next) => {
      await next()
      context.dispatch = hide(context.result)
      setDispatch(context.result as object, context.dispatch)
    },
  ])
  const item = (await items.get(1)) as Item
  t.strictSame(item, stored)
  t.strictSame(toExternalForm({ deep: [{ item }] }), { deep: [{ item: { id: 1, extra: 3 } }] })
  // Two of them meet: a form of ours also goes with what the other one puts in place of the record.
  addExternalForm(item, hideExtra)
  const dispatch = (item as { [DISPATCH]?: unknown })[DISPATCH]
  t.strictSame(toExternalForm([item, dispatch]), [{ id: 1 }, { id: 1 }])
})

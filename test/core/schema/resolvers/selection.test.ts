import t from 'tap'
import type { Params } from '../../../../src/core/index.ts'
import { toExternalForm } from '../../../../src/core/index.ts'
import {
  querySyntax,
  resolve,
  resolveExternal,
  resolveResult,
  Type,
  validateQuery,
  virtual,
} from '../../../../src/core/schema/index.ts'
import { readSelection } from '../../../../src/core/schema/resolvers/selection.ts'
import { createApp } from '../../../../src/transport/index.ts'

const callOf = (service: object) => ({ service })

t.test('the id is what the service says, by itself or by its options', async (t) => {
  const select = ['name']
  t.strictSame(readSelection(select, callOf({ id: 'no' })), ['name', 'no'])
  t.strictSame(readSelection(select, callOf({ options: { id: 'key' } })), ['name', 'key'])
  t.strictSame(readSelection(select, callOf({ id: 7, options: null })), ['name', '_id', 'id'])
  t.strictSame(readSelection(select, {}), ['name', '_id', 'id'])
})

t.test('each name is there once, and paths by the property that they begin with', async (t) => {
  const names = ['author.name', 'author', 'id', 'author.age']
  t.strictSame(readSelection(names, callOf({ id: 'id' })), ['author', 'id'])
})

t.test('a list of a URL is one name, or an object by positions', async (t) => {
  t.strictSame(readSelection('name', callOf({ id: 'id' })), ['name', 'id'])
  t.strictSame(readSelection({ 0: 'a', 21: 'b' }, callOf({ id: 'id' })), ['a', 'b', 'id'])
  t.strictSame(readSelection([], callOf({ id: 'id' })), ['id'])
})

t.test('what selects no names selects nothing here: the service refuses it', async (t) => {
  for (const select of [undefined, null, 7, [7], { a: 'b' }, [''], new Date(0)]) {
    t.equal(readSelection(select, callOf({})), undefined)
  }
})

const User = Type.Object({ id: Type.Integer(), first: Type.String(), full: Type.String() })
const query = querySyntax(Type.Omit(User, ['full']))
type Fields = Readonly<Record<string, unknown>>
const full = resolve<Fields, unknown>({ full: virtual(({ first }) => `${first}!`) })
const short = resolve<Fields, unknown>({ short: virtual(({ first }) => String(first)[0]) })

function start(around: readonly object[], before: readonly object[], options: object) {
  const seen: unknown[] = []
  const find = async (params: Params) => {
    seen.push(params.query)
    const selected = params.query?.['$select'] as readonly string[] | undefined
    const record = { id: 1, first: 'Ann', last: 'Lee' }
    if (selected === undefined) return [record]
    const fields = Object.entries(record)
    return [Object.fromEntries(fields.filter(([name]) => ['id', ...selected].includes(name)))]
  }
  const users = createApp().use('users', { find }, options).service('users')
  users.hooks({ around: { all: around }, before: { all: before } } as never)
  const findSelected = (names: unknown) =>
    users.find({ provider: 'rest', query: { $select: names, first: 'Ann' } } as Params)
  const select = async (names: unknown) => toExternalForm(await findSelected(names))
  return { findSelected, select, seen }
}

const WAYS = [
  { title: 'the option schemas', before: [], options: { schemas: { query } } },
  { title: 'a hook of one schema', before: [validateQuery(query)], options: {} },
]

const HOOKS = [
  { name: 'resolveResult', resolveRecords: resolveResult },
  { name: 'resolveExternal', resolveRecords: resolveExternal },
]

for (const { name, resolveRecords } of HOOKS) {
  t.test(`${name} makes selected virtual properties of whole records`, async (t) => {
    const hide = resolve<Fields, unknown>({ last: () => undefined })
    const chains = [
      [resolveRecords(full), resolveRecords(short)],
      [resolveRecords(short), resolveRecords(full)],
      [resolveRecords(full, short)],
      [resolveRecords(short, full)],
      [resolveRecords(hide, full, short)],
      [resolveRecords(short, full), resolveExternal(hide)],
      [resolveRecords(full), resolveResult(short)],
    ]
    for (const around of chains) {
      const { select, seen } = start(around, [], {})
      t.strictSame(await select(['full']), [{ id: 1, full: 'Ann!' }])
      t.strictSame(await select(['short']), [{ id: 1, short: 'A' }])
      t.strictSame(await select('full'), [{ id: 1, full: 'Ann!' }])
      t.strictSame(await select({ 0: 'full' }), [{ id: 1, full: 'Ann!' }])
      t.strictSame(await select(['full.x']), [{ id: 1, full: 'Ann!' }])
      const all = { id: 1, first: 'Ann', full: 'Ann!', short: 'A' }
      t.strictSame(await select(['short', 'full', 'first']), [all])
      t.strictSame(seen, Array(6).fill({ first: 'Ann' }))
      t.strictSame(await select(['first']), [{ id: 1, first: 'Ann' }])
      t.match(seen[6], { $select: ['first'] }, 'only selected fields are read')
    }
  })
}

t.test('an external property may be made of one that resolveResult makes', async (t) => {
  const greeting = resolve<Fields, unknown>({ greeting: virtual((user) => `Hi ${user['full']}`) })
  const { select } = start([resolveExternal(greeting), resolveResult(full)], [], {})
  t.strictSame(await select(['greeting']), [{ id: 1, greeting: 'Hi Ann!' }])
  t.strictSame(await select(['full']), [{ id: 1, full: 'Ann!' }])
})

t.test('the result of a call has only the selected properties of the records read', async (t) => {
  const { findSelected } = start([resolveExternal(full)], [], {})
  t.strictSame(await findSelected(['full']), [{ id: 1 }])
  t.strictSame(await findSelected(['full', 'last']), [{ id: 1, last: 'Lee' }])
})

for (const { title, before, options } of WAYS) {
  t.test(`an external virtual name is checked as any other by ${title}`, async (t) => {
    const { select } = start([resolveExternal(full), resolveResult(short)], before, options)
    const both = [{ id: 1, full: 'Ann!', short: 'A' }]
    t.strictSame(await select(['full', 'short']), both)
    for (const names of [['full', 'nope'], ['short', 'nope', 'full'], 'nope']) {
      await t.rejects(select(names), { code: 400, data: [{ instancePath: '/$select/0' }] })
    }
  })

  t.test(`what is selected beside a virtual name is checked by ${title}`, async (t) => {
    const { select, seen } = start([resolveResult(full)], before, options)
    t.strictSame(await select(['full']), [{ id: 1, full: 'Ann!' }])
    t.strictSame(await select(['full', 'first']), [{ id: 1, first: 'Ann', full: 'Ann!' }])
    t.strictSame(seen, Array(2).fill({ first: 'Ann' }), 'the service returns whole records')
    for (const names of [['full', 'nope'], ['nope', 'full'], { 0: 'full', 1: 'nope' }, 'nope']) {
      await t.rejects(select(names), { code: 400, data: [{ instancePath: '/$select/0' }] })
    }
    t.equal(seen.length, 2)
  })

  t.test(`what any of several hooks makes may be selected with ${title}`, async (t) => {
    const around = [resolveResult(full), resolveResult(short)]
    const { select } = start(around, before, options)
    t.match(await select(['full', 'short']), [{ full: 'Ann!', short: 'A' }])
    await t.rejects(select(['full', 'nope', 'short']), { code: 400 })
    await t.rejects(select(['short', 'nope']), { code: 400 })
  })
}

import t from 'tap'

import { toCallSettings, withQuery, withSettings } from '../../src/adapter/call-settings.ts'
import type { MongoDBParams } from '../../src/adapter/mongodb-params.ts'
import { resolveMongoDBOptions } from '../../src/adapter/resolve-options.ts'
import { createAnyPaging } from '../support/any-paging.ts'
import { openDatabase } from '../support/database.ts'
import { idleCollection } from '../support/idle-collection.ts'

const { empty } = await openDatabase(t)
const Model = idleCollection

/** Returns limits, and how often they were listed: once to check, once to fill in the defaults. */
function countReads(given: object): { limits: object; reads: () => number } {
  let count = 0
  const limits = new Proxy(given, {
    ownKeys: (target) => {
      count += 1
      return Reflect.ownKeys(target)
    },
  })
  return { limits, reads: () => count }
}

t.test('reads a call by params.adapter, then params.paginate, then the options', async (t) => {
  const settings = resolveMongoDBOptions({ Model, paginate: { default: 1 }, multi: true })
  t.equal(toCallSettings(settings, {}), settings)
  t.match(toCallSettings(settings, { paginate: false }), { paginate: false, multi: true })
  const adapter = { paginate: { default: 3 }, multi: false }
  t.match(toCallSettings(settings, { paginate: false, adapter }), adapter)
})

t.test('a call changes only what it names, and names only what there is', async (t) => {
  const settings = resolveMongoDBOptions({ Model, paginate: { default: 1 }, multi: true })
  const adapter = { limits: { depth: 3 }, paginate: undefined, multi: undefined }
  t.match(toCallSettings(settings, { adapter } as unknown as MongoDBParams), {
    limits: { depth: 3, conditions: 150 },
    paginate: { default: 1 },
    multi: true,
  })
  const wrong: readonly [object, RegExp][] = [
    [{ adapter: { mutli: true } }, /params\.adapter: unknown option 'mutli'; did you mean 'multi'/],
    [{ adapter: { hidden: 'password' } }, /params\.adapter: the option 'hidden' must be/],
    [
      { adapter: { limits: { dept: 3 } } },
      /params\.adapter: unknown option 'limits\.dept'; did you mean 'depth'/,
    ],
    [{ adapter: { events: [] } }, /params\.adapter: unknown option 'events'/],
    [
      { paginate: { defualt: 3 } },
      /params: unknown option 'paginate\.defualt'; did you mean 'default'/,
    ],
    [{ paginate: 10 }, /params: the option 'paginate' must be/],
  ]
  for (const [params, message] of wrong) {
    t.throws(() => toCallSettings(settings, params as MongoDBParams), { message })
  }
})

t.test('the options of a call are checked once, whatever steps it has', async (t) => {
  const people = createAnyPaging<{ name: string }>({ Model: await empty('people') })
  const calls: ((params: MongoDBParams) => Promise<unknown>)[] = [
    (params) => people.create([{ name: 'a' }, { name: 'b' }], params),
    (params) => people.find(params),
    (params) => people.patch(null, { name: 'c' }, { ...params, query: { name: 'a' } }),
    (params) => people.remove(null, { ...params, query: { name: 'c' } }),
    (params) => people._patch(null, { name: 'd' }, params),
    (params) => people._remove(null, params),
  ]
  for (const call of calls) {
    const { limits, reads } = countReads({ depth: 5 })
    await call({ adapter: { multi: true, limits }, provider: 'rest' })
    t.equal(reads(), 2)
  }
})

t.test('a step checks anew what was put into the params since', async (t) => {
  const options = resolveMongoDBOptions({ Model })
  const params: MongoDBParams = { adapter: { multi: true }, paginate: { max: 5 } }
  const settings = toCallSettings(options, params)
  const next = withQuery(params, { a: 1 }, options, settings)

  t.strictSame({ ...next }, { ...params, query: { a: 1 } })
  t.equal(toCallSettings(options, next), settings)
  t.match(toCallSettings(options, { ...next, adapter: { multi: false } }), { multi: false })
  t.match(toCallSettings({ ...options, id: 'key' }, next), { id: 'key', multi: true })
  const changed = withQuery({ adapter: { multi: true } }, {}, options, { ...settings })
  Object.assign(changed.adapter as object, { multi: false })
  t.match(toCallSettings(options, changed), { multi: false }, 'changed in place')
  next.paginate = false
  t.match(toCallSettings(options, next), { paginate: false, multi: true })
  next.adapter = { mutli: true } as object
  t.throws(() => toCallSettings(options, next), TypeError)
})

t.test('a copy for the next step keeps the signal that a request makes on demand', async (t) => {
  const options = resolveMongoDBOptions({ Model })
  const { signal } = new AbortController()
  class RequestParams {
    get signal(): AbortSignal {
      return signal
    }
  }
  for (const more of [{}, { paginate: false }] as const) {
    const params: MongoDBParams = Object.assign(new RequestParams(), more)
    const settings = toCallSettings(options, params)
    const next = withQuery(params, {}, options, settings)
    t.equal(next.signal, signal)
    t.notOk(Object.hasOwn(next, 'signal'))
    t.equal(toCallSettings(options, next), settings)
    t.equal(withSettings(params, options, settings)?.signal, signal)
  }
})

t.test('params without options of their own are handed on as they are', async (t) => {
  const options = resolveMongoDBOptions({ Model })
  const params: MongoDBParams = { query: { a: 1 } }
  t.equal(withSettings(params, options, options), params)
  t.equal(withSettings(undefined, options, options), undefined)
  t.equal(Object.getPrototypeOf(withQuery(params, {}, options, options)), Object.prototype)
})

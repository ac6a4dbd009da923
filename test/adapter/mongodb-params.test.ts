import t from 'tap'

import { withQuery } from '../../src/adapter/call-checks.ts'
import type { MongoDBParams } from '../../src/adapter/mongodb-params.ts'
import { resolveCallSettings, resolveMongoDBOptions } from '../../src/adapter/resolve-options.ts'
import { idleCollection } from '../support/idle-collection.ts'

const Model = idleCollection

t.test('reads a call by params.adapter, then params.paginate, then the options', async (t) => {
  const settings = resolveMongoDBOptions({ Model, paginate: { default: 1 }, multi: true })
  t.equal(resolveCallSettings(settings, {}), settings)
  t.match(resolveCallSettings(settings, { paginate: false }), { paginate: false, multi: true })
  // As in Feathers: it turns pages off, too.
  const odd = { paginate: true } as unknown as MongoDBParams
  t.match(resolveCallSettings(settings, odd), { paginate: false })
  const adapter = { paginate: { default: 3 }, multi: false }
  t.match(resolveCallSettings(settings, { paginate: false, adapter }), adapter)
})

t.test('a call changes only what it names, and names only what there is', async (t) => {
  const settings = resolveMongoDBOptions({ Model, paginate: { default: 1 }, multi: true })
  const adapter = { limits: { depth: 3 }, paginate: undefined, multi: undefined }
  t.match(resolveCallSettings(settings, { adapter } as unknown as MongoDBParams), {
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
    t.throws(() => resolveCallSettings(settings, params as MongoDBParams), { message })
  }
})

t.test('a copy for the next step keeps the signal that a request makes on demand', async (t) => {
  const { signal } = new AbortController()
  class RequestParams {
    get signal(): AbortSignal {
      return signal
    }
  }
  for (const more of [{}, { paginate: false }] as const) {
    const params: MongoDBParams = Object.assign(new RequestParams(), more)
    const next = withQuery(params, { a: 1 })
    t.equal(next.signal, signal)
    t.notOk(Object.hasOwn(next, 'signal'))
    t.strictSame({ ...next }, { ...more, query: { a: 1 } })
  }
})

t.test('a copy for the next step of other params is a plain object', async (t) => {
  const params: MongoDBParams = { paginate: false, query: { a: 1 } }
  const next = withQuery(params, { b: 1 })
  t.strictSame(next, { paginate: false, query: { b: 1 } })
  t.equal(Object.getPrototypeOf(next), Object.prototype)
  t.strictSame(withQuery(undefined, { b: 1 }), { query: { b: 1 } })
})

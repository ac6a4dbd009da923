import { inspect } from 'node:util'
import t from 'tap'
import type { OperatorPlace } from '../../src/core/checked-query.ts'
import { findOperatorPlaces, setCheckedQuery } from '../../src/core/checked-query.ts'
import { createApp } from '../../src/core/index.ts'
import type { Params } from '../../src/core/params.ts'

const places: OperatorPlace = { names: new Map(), items: undefined }

/** A service that tells its params, and what it may do by them. */
class Telling {
  async find(params: Params): Promise<{ params: Params; found: readonly OperatorPlace[] }> {
    return { params, found: findOperatorPlaces(params, this) }
  }
}

function createServices() {
  const app = createApp<{ one: Telling; other: Telling }>()
  app.use('one', new Telling()).use('other', new Telling())
  return app
}

t.test('holds for the service of the call, whatever copy of the params it gets', async (t) => {
  const one = createServices().service('one')
  one.hooks({
    before: {
      find: [
        (context) => setCheckedQuery(context, context.params.query ?? {}, places),
        (context) => {
          context.params = { ...context.params, query: { a: 1 } }
        },
      ],
    },
  })
  const { found } = await one.find({ provider: 'rest' })
  t.strictSame(found, [places])
})

t.test('does not hold for another service that gets the params', async (t) => {
  const app = createServices()
  app.service('one').hooks({
    before: {
      find: [
        (context) => setCheckedQuery(context, context.params.query ?? {}, places),
        async (context) => {
          context.result = await app.service('other').find(context.params)
        },
      ],
    },
  })
  t.strictSame((await app.service('one').find({})).found, [])
})

t.test('leaves the params of the caller as they are', async (t) => {
  const one = createServices().service('one')
  one.hooks({
    before: { find: [(context) => setCheckedQuery(context, context.params.query ?? {}, places)] },
  })
  const params = Object.freeze({ query: {} })
  t.strictSame((await one.find(params)).found, [places])
  t.strictSame(Reflect.ownKeys(params), ['query'])
})

t.test('holds for literals, for subclasses, and for what is derived from a service', async (t) => {
  class Derived extends Telling {
    override async find(params: Params) {
      return super.find({ ...params })
    }
  }
  const find = Telling.prototype.find
  const app = createApp<{ literal: Pick<Telling, 'find'>; derived: Derived }>()
  app.use('literal', { find }).use('derived', new Derived())
  for (const path of ['literal', 'derived'] as const) {
    const service = app.service(path)
    service.hooks({
      before: { find: [(context) => setCheckedQuery(context, context.params.query ?? {}, places)] },
    })
    t.strictSame((await service.find({})).found, [places], path)
    const above = Object.create(service) as typeof service
    t.strictSame((await above.find({})).found, [places], `above ${path}`)
  }
})

t.test('keeps the places of each schema', async (t) => {
  const more: OperatorPlace = { ...places }
  const one = createServices().service('one')
  const allow = [places, more].map((each) => (context: Parameters<typeof setCheckedQuery>[0]) => {
    setCheckedQuery(context, context.params.query ?? {}, each)
  })
  one.hooks({ before: { find: allow } })
  const { found } = await one.find({})
  t.equal(found.length, 2)
  t.equal(found[1], more)
})

t.test('can not be forged by what JSON holds', async (t) => {
  const service = new Telling()
  const context = { service, self: service, params: {} as Params }
  setCheckedQuery(context, context.params.query ?? {}, places)
  const [mark] = Object.getOwnPropertySymbols(context.params)
  const forged = { services: [service], places, names: [] }
  t.ok(mark)
  t.strictSame(findOperatorPlaces({ [mark as symbol]: [forged, null, 'x'] }, service), [])
  t.strictSame(findOperatorPlaces({ [String(mark)]: [forged] }, service), [])
  t.strictSame(findOperatorPlaces(undefined, service), [])
})

t.test('shows nothing of the service in a log of the params', async (t) => {
  const service = { secret: 'do-not-log' }
  const context = { service, self: service, params: {} as Params }
  setCheckedQuery(context, context.params.query ?? {}, places)
  t.notMatch(inspect(context.params, { depth: 9, showHidden: true }), 'do-not-log')
  t.equal(JSON.stringify(context.params), '{"query":{}}')
})

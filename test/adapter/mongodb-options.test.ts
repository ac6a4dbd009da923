import type { Collection } from 'mongodb'
import t from 'tap'

import type { MongoDBOptions } from '../../src/adapter/mongodb-options.ts'
import { resolveMongoDBOptions } from '../../src/adapter/mongodb-options.ts'
import { toCallSettings } from '../../src/adapter/mongodb-params.ts'

const Model = {} as Collection

t.test('sets a default for every option but Model', async (t) => {
  t.strictSame(resolveMongoDBOptions({ Model }), {
    Model,
    id: '_id',
    paginate: false,
    multi: false,
    operators: [],
    filters: {},
    updateOperators: [],
    allowEmptyFilter: false,
    disableObjectify: false,
    useEstimatedDocumentCount: false,
    events: [],
    limits: { depth: 10, conditions: 150, values: 10_000, skip: 1_000_000 },
  })
})

t.test('refuses options without a Model, naming it', async (t) => {
  for (const options of [undefined, {}, { Model: 'users' }]) {
    t.throws(() => resolveMongoDBOptions(options as MongoDBOptions), /Model/)
  }
})

t.test('refuses names of operators without a dollar', async (t) => {
  t.throws(() => resolveMongoDBOptions({ Model, operators: ['regex'] }), TypeError)
  t.throws(() => resolveMongoDBOptions({ Model, filters: { search: true } }), TypeError)
})

t.test('reads a call by params.adapter, then params.paginate, then the options', async (t) => {
  const settings = resolveMongoDBOptions({ Model, paginate: { default: 1 }, multi: true })
  t.equal(toCallSettings(settings, {}), settings)
  t.match(toCallSettings(settings, { paginate: false }), { paginate: false, multi: true })
  const adapter = { paginate: { default: 3 }, multi: false }
  t.match(toCallSettings(settings, { paginate: false, adapter }), adapter)
})

import { MongoClient } from 'mongodb'
import t from 'tap'

import { MODEL_EXPECTED } from '../../src/adapter/connection/model.ts'
import type { MongoDBOptions } from '../../src/adapter/mongodb-options.ts'
import { resolveCallSettings, resolveMongoDBOptions } from '../../src/adapter/resolve-options.ts'
import { idleCollection } from '../support/idle-collection.ts'

const Model = idleCollection

t.test('sets a default for every option but Model', async (t) => {
  t.strictSame(resolveMongoDBOptions({ Model }), {
    Model,
    id: '_id',
    paginate: false,
    multi: false,
    operators: [],
    filters: {},
    updateOperators: [],
    hidden: [],
    version: undefined,
    requireVersion: false,
    allowClientId: false,
    allowEmptyFilter: false,
    disableObjectify: false,
    useEstimatedDocumentCount: false,
    events: [],
    indexes: [],
    shardKey: [],
    readPreference: undefined,
    readConcern: undefined,
    writeConcern: undefined,
    limits: {
      depth: 10,
      conditions: 150,
      values: 10_000,
      skip: 1_000_000,
      patternLength: 128,
      records: 1_000,
      timeMs: 5_000,
      stream: 0,
    },
  })
})

t.test('refuses options without a Model, and a Model that has no records', async (t) => {
  const client = new MongoClient('mongodb://127.0.0.1:1')
  const others = ['users', null, {}, [], client, client.db('shop')].map((Model) => ({ Model }))
  for (const options of [undefined, {}, ...others]) {
    t.throws(
      () => resolveMongoDBOptions(options as unknown as MongoDBOptions),
      new TypeError(`MongoDBService: the option 'Model' must be ${MODEL_EXPECTED}`),
    )
  }
})

t.test('says how a collection is made where Model is none', async (t) => {
  t.match(MODEL_EXPECTED, "a MongoDB collection, as db.collection('name') returns it")
})

const WRONG: readonly [object, string][] = [
  [{ paginate: 10 }, "the option 'paginate' must be false or { default, max }"],
  [{ paginate: true }, "the option 'paginate' must be"],
  [{ paginate: null }, "the option 'paginate' must be"],
  [{ paginate: { default: '10' } }, "the option 'paginate.default' must be a whole number"],
  [{ paginate: { max: -1 } }, "the option 'paginate.max' must be a whole number"],
  [{ paginate: { defualt: 10 } }, "'paginate.defualt'; did you mean 'default'?"],
  [{ multi: 'patch' }, "the option 'multi' must be true, false, or a list"],
  [{ multi: ['update'] }, "the option 'multi' must be"],
  [{ operators: '$regex' }, "the option 'operators' must be a list of operators, with $"],
  [{ operators: ['regex'] }, "the option 'operators' must be"],
  [{ filters: { search: true } }, "the option 'filters' must be"],
  [{ filters: { $search: 'yes' } }, "the option 'filters' must be"],
  [{ updateOperators: '$inc' }, "the option 'updateOperators' must be"],
  [{ updateOperators: ['$incr'] }, "the option 'updateOperators' must be"],
  [{ updateOperators: ['name'] }, "the option 'updateOperators' must be"],
  [{ hidden: 'password' }, "the option 'hidden' must be a list of field paths"],
  [{ hidden: ['_id'] }, "the option 'hidden' must be"],
  [{ hidden: ['key'], id: 'key' }, "the option 'hidden' must be"],
  [{ hidden: ['tokens.0'] }, "the option 'hidden' must be"],
  [{ hidden: ['a..b'] }, "the option 'hidden' must be"],
  [{ hidden: [''] }, "the option 'hidden' must be"],
  [{ shardKey: 'tenant' }, "the option 'shardKey' must be a list of field paths"],
  [{ shardKey: ['tags.0'] }, "the option 'shardKey' must be"],
  [{ shardKey: ['$x'] }, "the option 'shardKey' must be"],
  [{ shardKey: ['tenant'], hidden: ['tenant'] }, "the option 'shardKey' must be"],
  [{ shardKey: ['of.tenant'], hidden: ['of'] }, "the option 'shardKey' must be"],
  [{ allowClientId: 'yes' }, "the option 'allowClientId' must be true or false"],
  [{ allowEmptyFilter: 1 }, "the option 'allowEmptyFilter' must be true or false"],
  [{ disableObjectify: 'no' }, "the option 'disableObjectify' must be"],
  [{ useEstimatedDocumentCount: null }, "the option 'useEstimatedDocumentCount' must be"],
  [{ id: 7 }, "the option 'id' must be the name of a field"],
  [{ id: '$id' }, "the option 'id' must be"],
  [{ events: 'sent' }, "the option 'events' must be a list of non-empty strings"],
  [{ limits: 5 }, "the option 'limits' must be an object"],
  [{ limits: { dept: 3 } }, "'limits.dept'; did you mean 'depth'?"],
  [{ limits: { depth: '3' } }, "the option 'limits.depth' must be"],
  [{ limits: { skip: Number.NaN } }, "the option 'limits.skip' must be"],
  [{ limits: { timeMs: 0 } }, "the option 'limits.timeMs' must be a whole number of milliseconds"],
  [{ limits: { timeMs: 2 ** 31 } }, "the option 'limits.timeMs' must be"],
  [{ indexes: { key: { a: 1 } } }, "the option 'indexes' must be a list of indexes"],
  [{ indexes: [{ unique: true }] }, "the option 'indexes' must be"],
  [{ indexes: [{ key: {} }] }, "the option 'indexes.key' must be an object or a Map of fields"],
  [{ indexes: [{ key: { a: 1 }, uniqe: true }] }, "'indexes.uniqe'; did you mean 'unique'?"],
  [
    { indexes: [{ key: { a: 1 }, unique: 1 }] },
    "the option 'indexes.unique' must be true or false",
  ],
  [{ readPreference: 'secundary' }, "the option 'readPreference' must be one of primary"],
  [{ readConcern: 'local' }, "the option 'readConcern' must be { level } with one of local"],
  [{ readConcern: { level: 'most' } }, "the option 'readConcern' must be"],
  [{ readConcern: { level: 'local', w: 1 } }, "unknown option 'readConcern.w'"],
  [{ writeConcern: 'majority' }, "the option 'writeConcern' must be { w, journal, wtimeoutMS }"],
  [{ writeConcern: { w: 0 } }, "the option 'writeConcern.w' must be a whole number from 1 on"],
  [{ writeConcern: { wtimeout: 5 } }, "'writeConcern.wtimeout'; did you mean 'wtimeoutMS'?"],
  [{ Paginate: false }, "unknown option 'Paginate'; did you mean 'paginate'?"],
  [{ hiden: [] }, "unknown option 'hiden'; did you mean 'hidden'?"],
  [{ whitelist: ['$regex'] }, "unknown option 'whitelist'"],
  [JSON.parse('{"__proto__":{}}'), "unknown option '__proto__'"],
  [{ constructor: 1 }, "unknown option 'constructor'"],
  [{ casl: {} }, "unknown option 'casl', allowed are Model"],
  [{ extensions: ['casl'] }, "the option 'extensions' must be an object of options that other"],
  [{ extensions: new Map() }, "the option 'extensions' must be"],
  [{ extensions: { hidden: ['a'] } }, "'extensions.hidden' cannot be an option of another package"],
  [{ extensions: { hiden: ['a'] } }, "'extensions.hiden' cannot be an option of another package"],
  [{ extensions: { Paginate: 1 } }, "package; did you mean 'paginate'?"],
  [{ extensions: { schemas: {} } }, "'extensions.schemas' cannot be an option of another"],
  [{ extensions: { methdos: [] } }, "package; did you mean 'methods'?"],
  [{ extensions: { extensions: {} } }, "'extensions.extensions' cannot be an option of another"],
  [{ extensions: JSON.parse('{"__proto__":{}}') }, "'extensions.__proto__' cannot be an option"],
  [{ extensions: { constructor: 1 } }, "'extensions.constructor' cannot be an option"],
  [{ extensions: { toString: 1 } }, "'extensions.toString' cannot be an option"],
]

for (const [options, text] of WRONG) {
  t.test(`names what is wrong with ${JSON.stringify(options)}`, async (t) => {
    t.throws(() => resolveMongoDBOptions({ Model, ...options }), TypeError)
    t.throws(() => resolveMongoDBOptions({ ...options, Model } as MongoDBOptions), {
      message: new RegExp(text.replace(/[$?{}'.]/g, '\\$&')),
    })
  })
}

t.test('takes every option with a value that it can have', async (t) => {
  const options: MongoDBOptions = {
    ...{ Model: Promise.resolve(Model), id: 'key', paginate: { max: 5 }, multi: ['patch'] },
    ...{ operators: ['$regex'], filters: { $comment: true, $sum: () => 1 } },
    ...{ updateOperators: ['$inc', 'a.b', 'tags.$[]'], hidden: ['a', 'b.c'], events: ['sent'] },
    ...{ allowClientId: true, allowEmptyFilter: true, disableObjectify: true },
    ...{ indexes: [{ key: { email: 1 }, unique: true, name: 'email' }], readPreference: 'nearest' },
    ...{ readConcern: { level: 'majority' }, writeConcern: { w: 'majority', wtimeoutMS: 5 } },
    ...{ useEstimatedDocumentCount: true, limits: { depth: Number.POSITIVE_INFINITY, skip: 0 } },
    shardKey: ['_id', 'address.country'],
  }
  t.match(resolveMongoDBOptions(options), options)
})

t.test('options of other packages stand beside its own, as they are', async (t) => {
  const casl = { availableFields: ['text'] }
  const { extensions, ...settings } = {
    extensions: undefined,
    ...resolveMongoDBOptions({ Model, extensions: { casl, docs: undefined } as object }),
  }
  t.strictSame(settings, { ...resolveMongoDBOptions({ Model }), casl })
  t.equal(Reflect.get(settings, 'casl'), casl)
  t.equal(extensions, undefined)
  t.throws(() => resolveCallSettings(settings, { adapter: { extensions: {} } }), {
    message: "params.adapter: unknown option 'extensions'",
  })
  t.throws(() => resolveCallSettings(settings, { adapter: { casl } as object }), {
    message: "params.adapter: unknown option 'casl'",
  })
})

t.test('undefined is an option that is not given, and switches no limit off', async (t) => {
  const limits = { depth: undefined, conditions: 5 }
  const options = { Model, limits, multi: undefined, paginate: undefined, hidden: undefined }
  t.match(resolveMongoDBOptions(options as unknown as MongoDBOptions), {
    limits: { depth: 10, conditions: 5, values: 10_000, skip: 1_000_000 },
    multi: false,
    paginate: false,
    hidden: [],
    version: undefined,
    requireVersion: false,
  })
})

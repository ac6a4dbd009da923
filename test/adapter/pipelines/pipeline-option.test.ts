import t from 'tap'

import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { readPipeline } from '../../../src/adapter/pipelines/pipeline-option.ts'
import { idleCollection } from '../../support/idle-collection.ts'

const SET = { $set: { a: 1 } }
const MATCH = { $match: { a: 1 } }

t.test('reads no pipeline as none', async (t) => {
  t.equal(readPipeline(undefined), null)
  t.equal(readPipeline([]), null)
})

t.test('divides stages by the marker', async (t) => {
  t.strictSame(readPipeline([SET, MATCH]), { before: [], after: [SET, MATCH] })
  t.strictSame(readPipeline([SET, { $framework: {} }, MATCH]), { before: [SET], after: [MATCH] })
  t.strictSame(readPipeline([SET, { $feathers: {} }]), { before: [SET], after: [] })
})

const WRONG: readonly [string, unknown, RegExp][] = [
  ['null', null, /params\.pipeline must be a list of stages/],
  ['an object', SET, /must be a list of stages/],
  ['a string in it', ['$match'], /each an object with one \$name/],
  ['a list in it', [[SET]], /each an object with one \$name/],
  ['an empty stage', [{}], /each an object with one \$name/],
  ['two names in a stage', [{ ...SET, ...MATCH }], /each an object with one \$name/],
  ['a field in a stage', [{ name: 'a' }], /each an object with one \$name/],
  ['two markers', [{ $framework: {} }, { $feathers: {} }], /more than one \$feathers/],
  ['a marker with options', [{ $framework: { $limit: 1 } }], /\$framework marks a place/],
  ['a marker that is off', [{ $feathers: false }], /\$feathers marks a place/],
  ['undefined', [{ $match: { tenant: undefined } }], /has no value for tenant in \$match/],
  [
    'undefined in a list',
    [{ $match: { a: { $in: [undefined] } } }],
    /no value for \$in in \$match/,
  ],
]

const WRITES: readonly [string, unknown, RegExp][] = [
  ['$out', [SET, { $out: 'other' }], /must only read: \$out/],
  ['$merge', [{ $merge: { into: 'other' } }, { $framework: {} }], /must only read: \$merge/],
]

/** All methods that read params.pipeline and do not hand out a cursor. */
const METHODS: readonly [string, (service: MongoDBService, params: MongoDBParams) => unknown][] = [
  ['find', (service, params) => service.find(params)],
  ['get', (service, params) => service.get('a', params)],
  ['create', (service, params) => service.create({}, params)],
  ['create of many', (service, params) => service.create([{}], params)],
  ['update', (service, params) => service.update('a', {}, params)],
  ['patch', (service, params) => service.patch('a', {}, params)],
  ['patch of many', (service, params) => service.patch(null, {}, params)],
  ['remove', (service, params) => service.remove('a', params)],
  ['remove of many', (service, params) => service.remove(null, params)],
  ['countDocuments', (service, params) => service.countDocuments(params)],
]

// Its client never connects: a command would wait for half a minute, and fail in another way.
const service = new MongoDBService({ Model: idleCollection, multi: true })

for (const [method, call] of METHODS) {
  t.test(`${method} refuses a pipeline that is none, or that writes`, async (t) => {
    for (const [title, pipeline, message] of [...WRONG, ...WRITES]) {
      const params = { pipeline } as MongoDBParams
      const error = await t.rejects(Promise.resolve(call(service, params)), { message }, title)
      t.type(error, TypeError, title)
    }
  })
}

t.test('raw helpers refuse what they would leave out', async (t) => {
  const refused = (result: Promise<unknown>, message: RegExp) => t.rejects(result, { message })
  for (const [, pipeline, message] of WRONG) {
    await refused(service.aggregateRaw({ pipeline } as MongoDBParams), message)
  }
  await refused(service.findRaw({ pipeline: [SET] }), /findRaw takes no params\.pipeline/)
  for (const [, pipeline, message] of WRITES) {
    const outside = { pipeline, provider: 'rest' } as MongoDBParams
    await refused(service.aggregateRaw(outside), message)
  }
})

t.test('refuses options that no aggregation takes', async (t) => {
  const pipeline = [SET]
  const message = /params\.docdb\.sort is not one for read/
  await t.rejects(service.find({ pipeline, docdb: { sort: { a: 1 } } }), { message })
  const upsert = { pipeline: [{ $unwind: '$a' }], docdb: { upsert: true } }
  await t.rejects(service.patch('a', {}, upsert), {
    message: /^params\.docdb\.upsert cannot be combined with \$unwind in params\.pipeline/,
  })
})

t.test('refuses to write to many by stages that make other documents', async (t) => {
  const pipeline = [{ $group: { _id: '$owner' } }]
  await t.rejects(service.patch(null, {}, { pipeline }), {
    message: 'A pipeline with $group does not tell which records to patch',
  })
  await t.rejects(
    service.remove(null, { pipeline: [MATCH, { $replaceRoot: { newRoot: '$a' } }] }),
    {
      message: 'A pipeline with $replaceRoot does not tell which records to remove',
    },
  )
})

import type { Document } from 'mongodb'
import { Long, MongoClient } from 'mongodb'
import t from 'tap'

import type { MongoDBParams } from '../../../src/adapter/index.ts'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { startScriptedServer } from '../../support/scripted-server.ts'

/** The pipelines that were sent; each is answered as Atlas might, since the stage is refused here. */
const pipelines: Document[][] = []
const url = await startScriptedServer(t, async (name, command, run) => {
  if (name !== 'aggregate') return run()
  // Not in a transaction, as Atlas says of these stages.
  if (command['startTransaction']) return { ok: 0, code: 263, errmsg: 'not in a transaction' }
  pipelines.push(command['pipeline'])
  const isCount = '$count' in command['pipeline'].at(-1)
  const firstBatch = isCount ? [{ total: 7 }] : [{ _id: 1, title: 'tea' }]
  return { cursor: { id: Long.ZERO, ns: 'atlas.notes', firstBatch }, ok: 1 }
})
const client = await MongoClient.connect(url)
t.teardown(() => client.close())
const service = new MongoDBService({
  Model: client.db('atlas').collection('notes'),
  ...{ paginate: { default: 2 }, hidden: ['secret'], multi: true },
})

t.beforeEach(() => {
  pipelines.length = 0
})

const STAGES: readonly Document[] = [
  { $search: { text: { query: 'tea', path: 'title' } } },
  { $vectorSearch: { index: 'v', path: 'vector', queryVector: [1], numCandidates: 1, limit: 1 } },
]

for (const stage of STAGES) {
  const [name = ''] = Object.keys(stage)
  const pipeline = [stage, { $framework: {} }, { $set: { n: 1 } }] as MongoDBParams['pipeline']

  t.test(`${name} comes first in find and in its count, with the query behind it`, async (t) => {
    const query = { owner: 'ann' }
    t.match(await service.find({ query, pipeline }), { total: 7, data: [{ title: 'tea' }] })
    t.strictSame(pipelines, [
      [stage, { $match: query }, { $skip: 0 }, { $limit: 2 }, { $set: { n: 1 } }],
      [stage, { $match: query }, { $set: { n: 1 } }, { $count: 'total' }],
    ])
  })

  t.test(`${name} comes first in get, and with hidden fields`, async (t) => {
    t.match(await service.get(1, { pipeline, provider: 'rest' }), { title: 'tea' })
    const unset = { $unset: ['secret'] }
    t.strictSame(pipelines, [
      [
        ...[stage, { $match: { _id: 1 } }, { $skip: 0 }, { $limit: 1 }],
        ...[unset, { $set: { n: 1 } }, unset, { $limit: 1 }],
      ],
    ])
  })

  t.test(`${name} comes first when the answer of a write is made`, async (t) => {
    await client.db('atlas').collection('notes').drop()
    await service.create({ _id: 1, title: 'tea' }, { pipeline })
    t.strictSame(
      pipelines.map(([first]) => first),
      [stage],
    )
    await service.remove(null, { pipeline })
    t.ok(pipelines.length > 1)
    for (const [first] of pipelines) t.strictSame(first, stage)
  })
}

t.test('a stage that has to be the first is refused anywhere else', async (t) => {
  for (const name of ['$search', '$searchMeta', '$vectorSearch', '$geoNear'] as const) {
    const stage = { [name]: {} }
    for (const pipeline of [
      ...[[stage], [{ $match: {} }, stage, { $framework: {} }], [{ $framework: {} }, stage]],
      [stage, stage, { $framework: {} }],
    ]) {
      const message = `params.pipeline: ${name} must be the first stage, with { $framework: {} } behind it`
      const refused = { name: 'TypeError', message }
      await t.rejects(service.find({ pipeline } as MongoDBParams), refused)
      await t.rejects(service.patch(1, {}, { pipeline } as MongoDBParams), refused)
    }
  }
  t.strictSame(pipelines, [])
})

import type { Document } from 'mongodb'
import t from 'tap'
import { pluck } from '../../../support/pluck.ts'
import { openClient, openDatabase } from '../open-database.ts'
import { GRAPH_CASES, GRAPH_LOOKUP, GRAPH_REFUSALS } from './graph-lookup-cases.ts'

type Node = Document & { _id: number }

t.test('$graphLookup', async (t) => {
  const database = await openDatabase(t)
  for (const [number, [title, { nodes, documents, stage, ...rest }]] of Object.entries(
    GRAPH_CASES,
  ).entries()) {
    await t.test(title, async (t) => {
      const from = `nodes${number}`
      await database.collection<Node>(from).insertMany(nodes as Node[])
      const starts = database.collection<Node>(`starts${number}`)
      await starts.insertMany(documents.map((document, _id) => ({ _id, ...document })))
      const pipeline = [{ $graphLookup: { ...GRAPH_LOOKUP, from, ...stage } }]
      const found = await starts.aggregate(pipeline, rest.options).toArray()
      t.strictSame(
        found.map(({ out }) => out.map(({ _id }: Document) => _id)),
        rest.found,
      )
    })
  }
})

t.test('$graphLookup is refused with MongoDB’s code for', async (t) => {
  const database = await openDatabase(t)
  await database.collection<Node>('nodes').insertOne({ _id: 1, zero: 0 })
  await database.collection('starts').insertOne({ go: 1 })
  const run = (spec: unknown): Promise<Document[]> =>
    database
      .collection('starts')
      .aggregate([{ $graphLookup: spec }], { ignoreUndefined: true })
      .toArray()
  for (const [title, change, code, message] of GRAPH_REFUSALS) {
    await t.test(title, (t) => t.rejects(run({ ...GRAPH_LOOKUP, ...change }), { code, message }))
  }
  await t.test('no object', (t) => t.rejects(run(4), { code: 14 }))
})

t.test('the results of $graphLookup', async (t) => {
  const client = await openClient(t)
  const database = client.db('test')
  const nodes = database.collection<Node>('nodes')
  await nodes.insertMany([
    { _id: 1, to: 2, list: [{ n: 1 }] },
    { _id: 2, to: 1 },
  ])
  const run = async (stage: Document, more: Document[] = []): Promise<Document[]> => {
    const graph = { $graphLookup: { ...GRAPH_LOOKUP, startWith: '$_id', ...stage } }
    return await nodes.aggregate([{ $match: { _id: 1 } }, graph, ...more]).toArray()
  }

  await t.test('are put at a dotted path, and replace an array there', async (t) => {
    const found = [{ _id: 2, to: 1 }]
    const stage = { startWith: '$to', maxDepth: 0 }
    t.strictSame(
      [await run({ ...stage, as: 'to.all' }), await run({ ...stage, as: 'list.all' })].flat(),
      [
        { _id: 1, to: { all: found }, list: [{ n: 1 }] },
        { _id: 1, to: 2, list: { all: found } },
      ],
    )
  })

  await t.test('can be unwound, and searched inside of $lookup', async (t) => {
    const unwound = await run({}, [{ $unwind: '$out' }, { $replaceWith: '$out' }])
    t.strictSame(pluck(unwound, '_id'), [1, 2])
    const graph = { ...GRAPH_LOOKUP, startWith: '$$begin', maxDepth: 0 }
    const lookup = {
      from: 'nodes',
      let: { begin: '$_id' },
      pipeline: [{ $limit: 1 }, { $graphLookup: graph }],
      as: 'inner',
    }
    const found = await nodes.aggregate([{ $lookup: lookup }]).toArray()
    t.strictSame(
      found.map(({ inner }) => inner[0].out.map(({ _id }: Document) => _id)),
      [[1], [2]],
    )
  })

  await t.test('are those that a transaction sees', async (t) => {
    const session = client.startSession()
    t.teardown(() => session.endSession())
    session.startTransaction()
    await nodes.insertOne({ _id: 3 }, { session })
    await nodes.updateOne({ _id: 2 }, { $set: { to: 3 } }, { session })
    const graph = { $graphLookup: { ...GRAPH_LOOKUP, startWith: 2 } }
    const count = async (options: Document): Promise<unknown> => {
      const [document] = await nodes.aggregate([{ $match: { _id: 1 } }, graph], options).toArray()
      return document?.['out'].map(({ _id }: Document) => _id)
    }
    t.strictSame(await count({ session }), [2, 3])
    t.strictSame(await count({}), [2, 1])
    await session.abortTransaction()
  })
})

t.test('$graphLookup is stopped before the memory is full', async (t) => {
  const database = await openDatabase(t)
  const nodes = database.collection('nodes')
  await nodes.insertMany(Array.from({ length: 1400 }, () => ({ all: 1 })))
  // Just below the limit by itself, so that it is the search that is one too many.
  const lookup = { $lookup: { from: 'nodes', pipeline: [], as: 'others' } }
  const short = [lookup, { $count: 'n' }]
  t.strictSame(await nodes.aggregate(short).toArray(), [{ n: 1400 }])
  const stage = { ...GRAPH_LOOKUP, startWith: 1, connectFromField: 'all', connectToField: 'all' }
  await t.rejects(nodes.aggregate([lookup, { $graphLookup: stage }]).toArray(), { code: 146 })
})

t.test('$graphLookup does not search by a pattern or by operators that it has found', async (t) => {
  const database = await openDatabase(t)
  const nodes = database.collection('nodes')
  for (const to of [/x/, { $gt: 1 }]) {
    await nodes.deleteMany({})
    await nodes.insertOne({ to }, { checkKeys: false } as Document)
    const stage = { ...GRAPH_LOOKUP, startWith: { $literal: to } }
    await t.rejects(nodes.aggregate([{ $graphLookup: stage }]).toArray(), { code: 2 })
  }
})

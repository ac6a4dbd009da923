import type { AdapterTestName } from '@feathersjs/adapter-tests'
import { adapterTests } from '@feathersjs/adapter-tests'
import t from 'tap'

import { MongoDBService } from '../../src/adapter/index.ts'
import * as errors from '../../src/core/errors/index.ts'
import { createApp } from '../../src/core/index.ts'
import { openDatabase } from '../support/database.ts'
import { runMochaSuite } from '../support/mocha-globals.ts'

/** Every name of the suite: one that is missing here would be skipped. */
const NAMES: AdapterTestName[] = [
  ...(['.options', '.events', '._get', '._find', '._create', '._update', '._patch'] as const),
  ...(['._remove', '.get', '.get + $select', '.get + id + query', '.get + NotFound'] as const),
  ...(['.get + NotFound (integer)', '.get + id + query id', '.find', '.remove'] as const),
  ...(['.remove + $select', '.remove + id + query', '.remove + NotFound'] as const),
  ...(['.remove + NotFound (integer)', '.remove + multi', '.remove + id + query id'] as const),
  ...(['.remove + multi no pagination', '.update', '.update + $select'] as const),
  ...(['.update + id + query', '.update + NotFound', '.update + query + NotFound'] as const),
  ...(['.update + NotFound (integer)', '.update + id + query id', '.patch'] as const),
  ...(['.patch + $select', '.patch + id + query', '.patch multiple'] as const),
  ...(['.patch multiple no pagination', '.patch multi query same'] as const),
  ...(['.patch multi query changed', '.patch + NotFound', '.patch + query + NotFound'] as const),
  ...(['.patch + NotFound (integer)', '.patch + id + query id', '.create'] as const),
  ...(['.create + $select', '.create multi', '.create ignores query'] as const),
  ...(['internal .find', 'internal .get', 'internal .create', 'internal .update'] as const),
  ...(['internal .patch', 'internal .remove', '.find + equal', '.find + equal multiple'] as const),
  ...(['.find + $sort', '.find + $sort + string', '.find + $limit', '.find + $limit 0'] as const),
  ...(['.find + $skip', '.find + $select', '.find + $or', '.find + $in', '.find + $nin'] as const),
  ...(['.find + $lt', '.find + $lte', '.find + $gt', '.find + $gte', '.find + $ne'] as const),
  ...(['.find + $gt + $lt + $sort', '.find + $or nested + $sort', '.find + $and'] as const),
  ...(['.find + $and + $or', 'params.adapter + paginate', 'params.adapter + multi'] as const),
  ...(['.find + paginate', '.find + paginate + query', '.find + paginate + $limit 0'] as const),
  ...(['.find + paginate + $limit + $skip', '.find + paginate + params'] as const),
]

const { empty } = await openDatabase(t)

for (const id of ['_id', 'customId']) {
  t.test(`the common tests of adapters hold with the id field ${id}`, async (t) => {
    const Model = await empty(`people-${id}`)
    const app = createApp()
    app.use('people', new MongoDBService({ Model, id, events: ['testing'] }))
    await runMochaSuite(t, () => adapterTests(NAMES)(app, errors, 'people', id))
  })
}

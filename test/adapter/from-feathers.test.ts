import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

import type { MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { BadRequest } from '../../src/core/errors/index.ts'
import { openDatabase } from '../support/database.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const read = (path: string): string => readFileSync(root + path, 'utf8')

const { empty } = await openDatabase(t)

t.test('the code of the page for users of Feathers stands in an example that runs', async (t) => {
  const page = read('docs/reference/differences-from-feathers.md')
  const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
  t.equal(blocks.length, 1)
  const example = read('examples/mongodb-from-feathers.ts')
  for (const block of blocks) t.ok(example.includes(block))
})

t.test('a subclass checks a query before it goes on without checks', async (t) => {
  class Notes extends MongoDBService {
    override async find(params?: MongoDBParams): Promise<never> {
      const query = await this.sanitizeQuery(params)
      return this._find({ ...params, query: { ...query, draft: false } }) as Promise<never>
    }
  }
  const notes = new Notes({ Model: await empty('notes'), hidden: ['secret'], multi: true })
  await notes.create([
    { n: 1, draft: false },
    { n: 2, draft: true },
  ])
  t.match(await notes.find({ query: { n: { $gt: 0 } } }), [{ n: 1 }])
  t.strictSame(await notes.sanitizeQuery(), {})
  const query = { n: 1, $limit: '2' }
  const checked = await notes.sanitizeQuery({ query })
  t.match(checked, query)
  t.not(checked, query)
  await t.rejects(notes.find({ query: { $where: '1' } }), BadRequest)
  const outside = { provider: 'rest', query: { secret: 1 } }
  await t.rejects(notes.sanitizeQuery(outside), BadRequest)
})

t.test('a service tells its options and what it may write, for one call too', async (t) => {
  const notes = new MongoDBService({ Model: await empty('notes'), multi: ['create'] })
  t.equal(notes.getOptions(), notes.options)
  t.match(notes.getOptions({ paginate: { default: 3 } }), { paginate: { default: 3 } })
  t.match(notes.getOptions({ adapter: { multi: true } }), { multi: true })
  t.ok(notes.allowsMulti('create'))
  t.notOk(notes.allowsMulti('remove'))
  t.ok(notes.allowsMulti('remove', { adapter: { multi: ['remove'] } }))
  t.throws(() => notes.getOptions({ adapter: { mutli: true } as never }), /mutli/)
})

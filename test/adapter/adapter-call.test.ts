import type { Document } from 'mongodb'
import t from 'tap'
import type { AdapterId, MongoDBOptions, MongoDBParams } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import { openDatabase } from '../support/database.ts'

const { empty } = await openDatabase(t)
const OUTSIDE: MongoDBParams = { provider: 'rest' }

async function startNotes(options: Partial<MongoDBOptions> = {}): Promise<MongoDBService> {
  const Model = await empty('notes')
  await Model.insertOne({ _id: 1 as never, text: 'a', secret: 's' })
  return new MongoDBService({ Model, ...options })
}

t.test('an overridden method changes the options of its call, not those of others', async (t) => {
  const open = await startNotes()
  const guarded = new MongoDBService({ Model: open.options.Model, hidden: ['secret'] })
  class Passing extends MongoDBService {
    change: (params: MongoDBParams) => MongoDBParams = (params) => params
    next: { _get(id: AdapterId, params?: MongoDBParams): Promise<Document> } = guarded

    override async _get(id: AdapterId, params: MongoDBParams = {}): Promise<Document> {
      return this.next._get(id, this.change(params))
    }
  }
  const passing = new Passing({ Model: open.options.Model })
  const params: MongoDBParams = { ...OUTSIDE, adapter: { allowEmptyFilter: true } }
  t.strictSame(await passing.get(1, params), { _id: 1, text: 'a' })
  passing.next = { _get: (id, given) => open._get(id, given) }
  t.strictSame(await passing.get(1, params), { _id: 1, text: 'a', secret: 's' })
  const own = { _get: MongoDBService.prototype._get.bind(passing) }
  passing.next = own
  passing.change = (given) => ({ ...given, adapter: { ...given.adapter, hidden: ['text'] } })
  t.strictSame(await passing.get(1, params), { _id: 1, secret: 's' })
  passing.change = (given) => {
    Object.assign(given.adapter as object, { hidden: ['text', 'secret'] })
    return given
  }
  t.strictSame(await passing.get(1, { ...params, adapter: {} }), { _id: 1 }, 'in place')
  passing.change = (given) => ({ ...given, adapter: { hidden: ['text'] }, provider: undefined })
  t.strictSame(await passing.get(1, params), { _id: 1, text: 'a', secret: 's' })
  passing.change = (given) => ({ ...given, adapter: { mutli: true } as never })
  await t.rejects(passing.get(1, params), /mutli/)
})

t.test('a feature that an option turns on or off holds from the next call on', async (t) => {
  const notes = await startNotes()
  t.equal(notes.recordVersions, null)
  t.strictSame(await notes.get(1, { query: { $select: ['text'] } }), { _id: 1, text: 'a' })
  notes.options.version = 'v'
  t.strictSame(notes.recordVersions, { field: 'v', isRequired: false })
  t.strictSame(await notes.get(1, { query: { $select: ['text'] } }), { _id: 1, text: 'a', v: 0 })
  t.match(await notes.patch(1, { text: 'b', v: 0 }), { text: 'b', v: 1 })
  await t.rejects(notes.patch(1, { text: 'c', v: 0 }), { code: 412, data: { current: 1 } })
  notes.options = { ...notes.options, version: undefined }
  t.match(await notes.patch(1, { text: 'c', v: 7 }), { text: 'c', v: 7 })
})

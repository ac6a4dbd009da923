import type { HookContext } from '@feathersjs/feathers'
import { resolve, resolveData, resolveQuery } from '@feathersjs/schema'
import { ObjectId } from 'mongodb'
import t from 'tap'

import { MongoDBService, resolveObjectId, resolveQueryObjectId } from '../../src/adapter/index.ts'
import type { Hook } from '../../src/core/index.ts'
import { BadRequest } from '../../src/core/index.ts'
import { openDatabase } from '../support/database.ts'
import { injectServer } from '../support/http.ts'

const HEX = '507f1f77bcf86cd799439011'
const OTHER_HEX = '507f1f77bcf86cd799439012'
const ID = new ObjectId(HEX)

/** What an ObjectId of another copy of the driver looks like. */
class ForeignObjectId {
  get _bsontype(): string {
    return 'ObjectId'
  }
  toHexString(): string {
    return HEX
  }
}

const NO_ID = new BadRequest('An id must be an ObjectId or a string of 24 hexadecimal digits')
const NO_IDS = [
  ...['', 'zz', 'twelve chars', `${HEX}0`, ` ${HEX}`, `${HEX}\n`, 0, 5, 5n, true, false],
  ...[[], [HEX], new Date(), /x/, Symbol('id'), () => HEX],
]

for (const resolver of [resolveObjectId, resolveQueryObjectId]) {
  t.test(`${resolver.name} returns the ObjectId of 24 hexadecimal digits`, async (t) => {
    for (const value of [HEX, HEX.toUpperCase(), new ForeignObjectId()]) {
      const id = resolver<unknown>(value)
      t.ok(id instanceof ObjectId)
      t.equal(String(id), HEX)
    }
    t.equal(resolver(ID), ID)
  })

  t.test(`${resolver.name} leaves undefined and null as they are`, async (t) => {
    t.equal(resolver(undefined), undefined)
    t.equal(resolver(null), null)
  })

  t.test(`${resolver.name} refuses what is no id`, async (t) => {
    for (const value of NO_IDS) t.throws(() => resolver<unknown>(value), NO_ID)
  })
}

t.test('resolveObjectId refuses objects, also those that imitate an ObjectId', async (t) => {
  for (const value of [{}, { $ne: HEX }, { _bsontype: 'ObjectId' }, { toHexString: HEX }]) {
    t.throws(() => resolveObjectId(value), NO_ID)
  }
})

t.test('resolveQueryObjectId keeps $in, $nin and $ne', async (t) => {
  const other = new ObjectId(OTHER_HEX)
  const query = { $in: [HEX, OTHER_HEX, ID, null], $nin: { 0: OTHER_HEX, 1: HEX }, $ne: HEX }
  t.strictSame(resolveQueryObjectId(query), {
    $in: [ID, other, ID, null],
    $nin: [other, ID],
    $ne: ID,
  })
  t.equal(query.$in[0], HEX, 'the query itself is not changed')
  t.strictSame(resolveQueryObjectId({ $ne: null }), { $ne: null })
  t.strictSame(resolveQueryObjectId({ $in: [] }), { $in: [] })
})

t.test('resolveQueryObjectId refuses every other operator by its name', async (t) => {
  for (const name of ['$gt', '$eq', '$not', '$regex', '$where', 'toHexString', '_bsontype']) {
    t.throws(
      () => resolveQueryObjectId({ $ne: HEX, [name]: HEX }),
      new BadRequest(`Invalid query parameter ${name}: ids take $in, $nin and $ne`),
    )
  }
  const own = JSON.parse(`{ "__proto__": { "$in": ["${HEX}"] } }`)
  t.throws(() => resolveQueryObjectId(own), { code: 400, message: /__proto__/ })
})

t.test('resolveQueryObjectId refuses what is no id in an operator', async (t) => {
  for (const value of [...NO_IDS, { $ne: HEX }]) {
    t.throws(() => resolveQueryObjectId({ $ne: value }), NO_ID)
    t.throws(() => resolveQueryObjectId({ $in: [HEX, value] }), NO_ID)
  }
  for (const name of ['$in', '$nin']) {
    for (const value of [HEX, ID, null, undefined, 5, {}, { a: HEX }]) {
      t.throws(
        () => resolveQueryObjectId({ [name]: value }),
        new BadRequest(`${name} must be a list`),
      )
    }
  }
})

interface Note {
  authorId: ObjectId
  editorId: ObjectId | null
}

interface NoteQuery {
  authorId?: ObjectId | { $in?: ObjectId[]; $nin?: ObjectId[]; $ne?: ObjectId }
}

const noteData = resolve<Note, HookContext>({
  properties: { authorId: resolveObjectId, editorId: resolveObjectId },
})
const noteQuery = resolve<NoteQuery, HookContext>({
  properties: { authorId: resolveQueryObjectId },
})

t.test('are resolvers of @feathersjs/schema', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('notes')
  const before = (hook: unknown): Hook => hook as Hook
  const server = await injectServer(t, {
    services(app) {
      app.use('notes', new MongoDBService({ Model: db.collection('notes') }))
      app.service('notes').hooks({
        before: { all: [before(resolveQuery(noteQuery)), before(resolveData(noteData))] },
      })
    },
  })
  const find = async (query: string) => (await server.request(`/notes?${query}`)).body

  await t.test('ids in data and queries become ObjectIds', async (t) => {
    const data = { authorId: HEX, editorId: null }
    const { body } = await server.request('/notes', { data })
    t.match(body, data)
    const { _id } = body as { _id: string }
    const note = { _id: new ObjectId(_id), authorId: ID, editorId: null }
    t.strictSame(await db.collection('notes').findOne(), note)
    const patch = { method: 'PATCH', data: { editorId: OTHER_HEX } }
    t.match((await server.request(`/notes/${_id}`, patch)).body, { ...data, editorId: OTHER_HEX })
    t.strictSame(await db.collection('notes').findOne(), {
      ...note,
      editorId: new ObjectId(OTHER_HEX),
    })

    for (const query of [`=${HEX}`, `[$in][]=${HEX}`, `[$ne]=${OTHER_HEX}`, `[$nin][]=${_id}`]) {
      t.match(await find(`authorId${query}`), [{ authorId: HEX }], query)
    }
    const many = Array.from({ length: 30 }, (_, index) => `authorId[$in][${index}]=${HEX}`)
    t.match(await find(many.join('&')), [{ authorId: HEX }], 'a list that became an object')
    for (const query of [`=${OTHER_HEX}`, `[$nin][]=${HEX}`, `[$ne]=${HEX}`]) {
      t.strictSame(await find(`authorId${query}`), [], query)
    }
  })

  await t.test('what is refused names the field and the operator', async (t) => {
    const message = 'Error resolving data'
    const field = { name: 'BadRequest', message: NO_ID.message, code: 400 }
    const { body } = await server.request('/notes', { data: { authorId: 'zz', editorId: 5 } })
    t.match(body, { code: 400, message, data: { authorId: field, editorId: field } })
    t.match(await find('authorId=zz'), { code: 400, message, data: { authorId: field } })
    t.match(await find('authorId='), { code: 400, message, data: { authorId: field } })
    t.match(await find(`authorId[$gt]=${HEX}`), {
      code: 400,
      message,
      data: { authorId: { message: /^Invalid query parameter \$gt/ } },
    })
    t.equal(await db.collection('notes').countDocuments(), 1)
  })
})

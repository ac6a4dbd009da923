import {
  Ajv,
  getDataValidator,
  getValidator,
  querySyntax,
  validateData,
  validateQuery,
} from '@feathersjs/schema'
import { ObjectId } from 'mongodb'
import t from 'tap'

import { keywordObjectId, MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import type { Hook } from '../../src/core/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { openDatabase } from '../support/database.ts'
import type { TestScope, TestServer } from '../support/http.ts'
import { injectServer } from '../support/http.ts'
import { pluck } from '../support/pluck.ts'

const HEX = '507f1f77bcf86cd799439011'
const OTHER_HEX = '507f1f77bcf86cd799439012'

/** What an ObjectId of another copy of the driver looks like. */
class ForeignObjectId {
  get _bsontype(): string {
    return 'ObjectId'
  }
  toHexString(): string {
    return HEX
  }
}

/** The two kinds of Ajv that services have: for data, and for queries, whose values are all text. */
const dataAjv = new Ajv()
const queryAjv = new Ajv({ coerceTypes: true })
const VALIDATORS = { data: dataAjv, query: queryAjv } as const
for (const ajv of Object.values(VALIDATORS)) ajv.addKeyword(keywordObjectId)

const MESSAGE = 'must be an ObjectId or a string of 24 hexadecimal digits'

for (const [kind, ajv] of Object.entries(VALIDATORS)) {
  const validate = ajv.compile({ type: 'object', properties: { ref: { objectid: true } } })

  t.test(`makes ObjectIds of 24 hexadecimal digits in the ${kind} itself`, async (t) => {
    for (const ref of [HEX, HEX.toUpperCase(), new ForeignObjectId()]) {
      const data: { ref: unknown } = { ref }
      t.equal(validate(data), true)
      t.ok(data.ref instanceof ObjectId)
      t.equal(String(data.ref), HEX)
    }
  })

  t.test(`keeps the ObjectId that is in the ${kind}`, async (t) => {
    const ref = new ObjectId()
    const data = { ref }
    t.equal(validate(data), true)
    t.equal(data.ref, ref)
  })

  t.test(`refuses every other value in the ${kind} and leaves it as it is`, async (t) => {
    const others = [
      ...['', 'zz', 'twelve chars', `${HEX}0`, ` ${HEX}`, `${HEX}\n`, 0, 5, true, null],
      ...[[HEX], {}, { _bsontype: 'ObjectId' }, { toHexString: HEX }, new Date(), Buffer.from(HEX)],
    ]
    for (const ref of others) {
      const data = { ref }
      t.equal(validate(data), false, JSON.stringify(ref))
      t.equal(data.ref, ref)
      const error = { instancePath: '/ref', keyword: 'objectid', message: MESSAGE }
      t.match(validate.errors, [error])
    }
  })

  t.test(`reaches every place of the ${kind}`, async (t) => {
    const objectid = true
    const check = ajv.compile({
      type: 'object',
      properties: {
        list: { type: 'array', items: { objectid } },
        deep: { type: 'object', additionalProperties: { objectid } },
        text: { type: 'string', minLength: 3, objectid },
        kept: { objectid: false },
      },
    })
    const id = new ObjectId(HEX)
    const data = { list: [HEX, HEX], deep: { a: HEX }, text: HEX, kept: HEX }
    t.equal(check(data), true)
    t.strictSame(data, { list: [id, id], deep: { a: id }, text: id, kept: HEX })
    t.equal(check({ text: '50' }), false)
    t.match(check.errors, [{ keyword: 'minLength' }], 'other keywords see the string')
  })
}

t.test('refuses a string that is the whole data, as nothing holds it', async (t) => {
  const validate = new Ajv().addKeyword(keywordObjectId).compile({ objectid: true })
  t.equal(validate(HEX), false)
  t.equal(validate(new ObjectId()), true)
})

t.test('changes no prototype', async (t) => {
  const ajv = new Ajv().addKeyword(keywordObjectId)
  const validate = ajv.compile({ type: 'object', additionalProperties: { objectid: true } })
  const data = JSON.parse(`{"__proto__":"${HEX}"}`)
  t.equal(validate(data), true)
  t.equal(Object.getPrototypeOf(data), Object.prototype)
  t.strictSame(Object.entries(data), [['__proto__', new ObjectId(HEX)]])
})

t.test('takes true and false alone in a schema', async (t) => {
  const ajv = new Ajv().addKeyword(keywordObjectId)
  t.throws(() => ajv.compile({ objectid: 'yes' }), /objectid value must be/)
})

const NOTE = {
  $id: 'Note',
  type: 'object',
  additionalProperties: false,
  required: ['authorId'],
  properties: {
    text: { type: 'string' },
    authorId: ObjectIdSchema(),
    readers: { type: 'array', items: ObjectIdSchema() },
  },
} as const
const checkNote = getDataValidator(NOTE, dataAjv)
const checkNoteQuery = getValidator(
  {
    $id: 'NoteQuery',
    type: 'object',
    additionalProperties: false,
    properties: querySyntax(NOTE.properties),
  },
  queryAjv,
)

async function start(t: TestScope, { db, empty }: TestDatabase): Promise<TestServer> {
  await empty('notes')
  const before = (hook: unknown): Hook => hook as Hook
  return injectServer(t, {
    services(app) {
      const Model = db.collection('notes')
      app.use('notes', new MongoDBService({ Model, multi: ['create', 'patch'] }))
      app.service('notes').hooks({
        before: {
          all: [before(validateQuery(checkNoteQuery))],
          create: [before(validateData(checkNote))],
          update: [before(validateData(checkNote))],
          patch: [before(validateData(checkNote))],
        },
      })
    },
  })
}

t.test('in the data and queries of a MongoDB service', async (t) => {
  const database = await openDatabase(t)
  const stored = () => database.db.collection('notes').find().toArray()
  const [one, other] = [new ObjectId(HEX), new ObjectId(OTHER_HEX)]

  await t.test('ids in data are stored as ObjectIds, and sent as strings', async (t) => {
    const server = await start(t, database)
    const data = { authorId: HEX, readers: [HEX, OTHER_HEX] }
    const created = await server.request('/notes', { data })
    const { _id } = created.body as { _id: string }
    t.strictSame([created.status, created.body], [201, { ...data, _id }])
    t.match(await stored(), [{ authorId: one, readers: [one, other] }])

    await server.request(`/notes/${_id}`, { method: 'PATCH', data: { authorId: OTHER_HEX } })
    t.match(await stored(), [{ authorId: other, readers: [one, other] }])
    await server.request(`/notes/${_id}`, { method: 'PUT', data: { authorId: HEX } })
    t.strictSame(await stored(), [{ _id: new ObjectId(_id), authorId: one }])
  })

  await t.test('ids in lists of records are stored as ObjectIds', async (t) => {
    const server = await start(t, database)
    const data = [{ authorId: HEX }, { authorId: OTHER_HEX }]
    t.equal((await server.request('/notes', { data })).status, 201)
    t.match(await stored(), [{ authorId: one }, { authorId: other }])
    const patch = { method: 'PATCH', data: { authorId: OTHER_HEX } }
    t.equal((await server.request(`/notes?authorId=${HEX}`, patch)).status, 200)
    t.match(await stored(), [{ authorId: other }, { authorId: other }])
  })

  await t.test('ids in queries find what is stored, at every depth', async (t) => {
    const server = await start(t, database)
    const data = [{ authorId: HEX }, { authorId: OTHER_HEX, readers: [HEX] }]
    await server.request('/notes', { data })
    const queries: readonly [query: string, expected: readonly string[]][] = [
      [`authorId=${HEX}`, [HEX]],
      [`authorId[$ne]=${HEX}`, [OTHER_HEX]],
      [`authorId[$gt]=${HEX}`, [OTHER_HEX]],
      [`authorId[$in][]=${HEX}&authorId[$in][]=${OTHER_HEX}`, [HEX, OTHER_HEX]],
      [`authorId[$nin][]=${HEX}`, [OTHER_HEX]],
      [`$or[0][authorId]=${HEX}`, [HEX]],
      [`$and[0][$or][0][authorId][$in][]=${OTHER_HEX}`, [OTHER_HEX]],
      [`readers[$in][]=${HEX}`, [OTHER_HEX]],
      [`authorId=${'a'.repeat(24)}`, []],
    ]
    for (const [query, expected] of queries) {
      const { body } = await server.request(`/notes?${query}`)
      t.strictSame(pluck(body as { authorId: string }[], 'authorId'), expected, query)
    }
  })

  await t.test('a value that is no ObjectId is a 400 that names the field (FTH-8)', async (t) => {
    const server = await start(t, database)
    const bad = [
      'zz',
      '',
      5,
      true,
      null,
      [HEX],
      {},
      { _bsontype: 'ObjectId' },
      { toHexString: HEX },
    ]
    for (const authorId of bad) {
      for (const data of [{ authorId }, { authorId: HEX, readers: [HEX, authorId] }]) {
        const { body } = await server.request('/notes', { data })
        t.match(body, { code: 400, message: 'validation failed' }, JSON.stringify(data))
        const place = 'readers' in data ? '/readers/1' : '/authorId'
        t.equal((body as { data: { instancePath: string }[] }).data[0]?.instancePath, place)
      }
    }
    t.strictSame(await stored(), [])
    for (const query of ['authorId=zz', 'authorId[$in][]=zz', '$or[0][authorId]=zz', 'authorId=']) {
      const { body } = await server.request(`/notes?${query}`)
      t.match(body, { code: 400, message: 'validation failed' }, query)
      t.match((body as { data: { instancePath: string }[] }).data[0]?.instancePath, /authorId/)
    }
  })
})

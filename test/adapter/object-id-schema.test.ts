import type { FromSchema } from '@feathersjs/schema'
import { Ajv } from '@feathersjs/schema'
import { ObjectId } from 'mongodb'
import t from 'tap'

import { keywordObjectId, ObjectIdSchema } from '../../src/adapter/index.ts'

const HEX = '507f1f77bcf86cd799439011'
const LINK = {
  type: 'object',
  properties: { to: ObjectIdSchema(), from: { anyOf: [ObjectIdSchema(), { type: 'null' }] } },
} as const

t.test('is the schema of an ObjectId and of its 24 digits, for every Ajv', async (t) => {
  for (const options of [{}, { coerceTypes: true }, { allErrors: true }, { strict: true }]) {
    const validate = new Ajv(options).addKeyword(keywordObjectId).compile(LINK)
    for (const to of [HEX, new ObjectId(HEX)]) {
      const link = { to }
      t.equal(validate(link), true)
      t.strictSame(link, { to: new ObjectId(HEX) })
    }
    for (const to of ['zz', 5, {}, null]) t.equal(validate({ to }), false)
  }
})

t.test('may stand beside null', async (t) => {
  for (const options of [{}, { coerceTypes: true }]) {
    const validate = new Ajv(options).addKeyword(keywordObjectId).compile(LINK)
    for (const from of [null, HEX]) {
      const link = { from }
      t.equal(validate(link), true)
      t.strictSame(link, { from: from === null ? null : new ObjectId(HEX) })
    }
  }
})

t.test('is new for each field and leads to a type', async (t) => {
  t.not(ObjectIdSchema(), ObjectIdSchema())
  const link: FromSchema<typeof LINK> = { to: HEX, from: null }
  t.ok(link)
})

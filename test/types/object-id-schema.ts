import type { ObjectId } from 'mongodb'
import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import type { Static } from '../../src/core/schema/index.ts'
import { Type } from '../../src/core/schema/index.ts'
import { expectType } from './expect-type.ts'

// `ObjectIdSchema()` needs no wrapper wherever TypeBox takes a schema.
const Record = Type.Object({
  _id: ObjectIdSchema(),
  maybe: Type.Optional(ObjectIdSchema()),
  orNull: Type.Union([ObjectIdSchema(), Type.Null()]),
  orText: Type.Optional(Type.Union([Type.String(), ObjectIdSchema()])),
  list: Type.Array(ObjectIdSchema(), { maxItems: 50, default: [] }),
  nested: Type.Object({ ownerId: ObjectIdSchema() }),
})
type Record = Static<typeof Record>

declare const record: Record
expectType<ObjectId>()(record._id)
expectType<ObjectId | undefined>()(record.maybe)
expectType<ObjectId | null>()(record.orNull)
expectType<string | ObjectId | undefined>()(record.orText)
expectType<ObjectId[]>()(record.list)
expectType<ObjectId>()(record.nested.ownerId)

// A part of a schema keeps the types.
declare const picked: Static<ReturnType<typeof pickIds>>
const pickIds = () => Type.Partial(Type.Pick(Record, ['_id', 'orNull']))
expectType<ObjectId | undefined>()(picked._id)
expectType<ObjectId | null | undefined>()(picked.orNull)

// It is the type of a service's records.
class Records extends MongoDBService<Record> {}
declare const service: Records
expectType<ObjectId>()((await service.get('')).nested.ownerId)

// @ts-expect-error an id is no number
const _wrong: Record['_id'] = 5

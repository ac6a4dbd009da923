import type { Db, ObjectId } from 'mongodb'
import type { HookContext } from 'remex'
import { MongoDBService, ObjectIdSchema } from 'remex/mongodb'
import type { Served, Static } from 'remex/schema'
import { DateSchema, Type } from 'remex/schema'
import type { Api } from '../api.ts'
import { onlyOwn, requireLogin, userOf } from './users.ts'

/** A record, as stored and returned. */
const MessagesRecord = Type.Object({
  _id: Type.Unsafe<ObjectId>(ObjectIdSchema()),
  text: Type.String({ minLength: 1, maxLength: 1_000 }),
  ownerId: Type.Unsafe<ObjectId>(ObjectIdSchema()),
  createdAt: DateSchema(),
})
export type MessagesRecord = Static<typeof MessagesRecord>

/** What callers send. Other fields are rejected. */
const MessagesData = Type.Pick(MessagesRecord, ['text'])
type MessagesData = Static<typeof MessagesData>

class MessagesService extends MongoDBService<MessagesRecord, MessagesData> {}

const messagesOptions = {
  methods: ['find', 'get', 'create', 'patch', 'remove'],
  schemas: { entity: MessagesRecord, create: MessagesData },
} as const

declare module '../api.ts' {
  interface Services {
    messages: Served<MessagesService, typeof messagesOptions>
  }
}

export function addMessages(app: Api, db: Db): void {
  const service = new MessagesService({
    Model: db.collection('messages'),
    paginate: { default: 20, max: 100 },
    indexes: [{ key: { ownerId: 1 } }],
  })
  app.use('messages', service, messagesOptions)
  app.service('messages').hooks({
    before: { all: [requireLogin, onlyOwn], create: [setOwner] },
  })
}

function setOwner(context: HookContext): void {
  const { _id: ownerId } = userOf(context.params)
  context.data = { ...(context.data as MessagesData), ownerId, createdAt: new Date() }
}

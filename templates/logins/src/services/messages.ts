import type { Db } from 'mongodb'
import { createdBy, MongoDBService, ObjectIdSchema, timestamps } from 'remex/mongodb'
import type { Served, Static } from 'remex/schema'
import { DateSchema, Type } from 'remex/schema'
import type { Api } from '../api.ts'
import { onlyOwn, requireLogin } from './users.ts'

/** A record, as stored and returned. */
const MessagesRecord = Type.Object({
  _id: ObjectIdSchema(),
  text: Type.String({ minLength: 1, maxLength: 1_000 }),
  ownerId: ObjectIdSchema(),
  createdAt: DateSchema(),
  updatedAt: DateSchema(),
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
    before: {
      all: [requireLogin, onlyOwn, createdBy({ field: 'ownerId' }), timestamps()],
    },
  })
}

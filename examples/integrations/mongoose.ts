// Services on the collections of Mongoose models: a REST API for an application that keeps its models.
import type { Collection } from 'mongodb'
import type { Model } from 'mongoose'
import mongoose, { Schema } from 'mongoose'
import type { FastifyApplication } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import type { MongoDBListService } from 'remex/mongodb'
import { MongoDBService, ObjectIdSchema, timestamps } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { DateSchema, Type } from 'remex/schema'

const UserSchema = new Schema(
  {
    name: { type: String, required: true, minlength: 2 },
    email: { type: String, required: true, unique: true },
    password: { type: String, select: false },
    team: Schema.Types.ObjectId,
  },
  { timestamps: true },
)

export const User = mongoose.model('User', UserSchema)

// The rules of the Mongoose schema again: calls of the service do not pass through the model.
const NewUser = Type.Object({
  name: Type.String({ minLength: 2 }),
  email: Type.String(),
  password: Type.Optional(Type.String()),
  team: Type.Optional(ObjectIdSchema()),
})
const UserRecord = Type.Object({
  _id: ObjectIdSchema(),
  ...NewUser.properties,
  createdAt: DateSchema(),
  updatedAt: DateSchema(),
})
type UserRecord = Static<typeof UserRecord>

type Services = { users: MongoDBListService<UserRecord> }

type StoredModel = Pick<Model<unknown>, 'db' | 'collection'>

/**
 * Returns the driver's collection of a model. Its own `collection` is a wrapper, which the service cannot use.
 * @throws {TypeError} Mongoose is not connected
 */
export function collectionOf<T extends object>({ db, collection }: StoredModel): Collection<T> {
  if (db.db === undefined) throw new TypeError('Call mongoose.connect() first')
  // Mongoose brings its own copy of the driver, whose types differ from those of yours.
  return db.db.collection(collection.collectionName) as object as Collection<T>
}

/** Resolves to the application. Its services use the connection of Mongoose. */
export async function createUsers(url: string): Promise<FastifyApplication<Services>> {
  await mongoose.connect(url, { dbName: 'remex_mongoose' })
  // Mongoose creates the indexes of its models.
  await User.init()
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  app.use(
    'users',
    new MongoDBService({ Model: collectionOf<UserRecord>(User), hidden: ['password'] }),
    {
      schemas: { entity: UserRecord, create: NewUser },
    },
  )
  app.service('users').hooks({ before: { all: [timestamps()] } })
  app.hooks({
    teardown: [
      async (_context, next) => {
        await next()
        await mongoose.disconnect()
      },
    ],
  })
  return app
}

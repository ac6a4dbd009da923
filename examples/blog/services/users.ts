import type { Db, ObjectId } from 'mongodb'
import type { Hook, RecordQuery } from 'remex'
import { authenticateParams, hashPassword, protect } from 'remex/auth'
import type { MongoDBParams } from 'remex/mongodb'
import { MongoDBService } from 'remex/mongodb'
import { z } from 'zod'
import type { Blog } from '../app.ts'
import { requireLogin, userOf } from '../authentication.ts'
import { email, validateData, validateQuery } from '../validation.ts'

export interface User {
  _id: ObjectId
  /** In lower case. */
  email: string
  name: string
  /** Its hash. */
  password: string
}

/** What others see of a user. */
export type Author = Pick<User, '_id' | 'name'>

const userData = z.strictObject({
  email,
  name: z.string().trim().min(1).max(100),
  password: z.string().min(12).max(1_000),
})
const userPatch = userData
  .omit({ email: true })
  .extend({ currentPassword: z.string() })
  .partial()
  .refine(({ password, currentPassword }) => password === undefined || currentPassword, {
    path: ['currentPassword'],
    message: 'must be the password until now',
  })

type UserData = z.infer<typeof userData>
type UserPatch = z.infer<typeof userPatch>
type UserParams = MongoDBParams<RecordQuery<User>>

export class UserService extends MongoDBService<User, UserData, UserParams, UserPatch, 'list'> {}

export function addUsers(app: Blog, db: Db): void {
  const users = new UserService({
    Model: db.collection('users'),
    hidden: ['password'],
    indexes: [{ key: { email: 1 }, unique: true }],
  })
  app.use('users', users, { methods: ['get', 'create', 'patch'] })
  app.service('users').hooks({
    before: {
      all: [validateQuery(z.strictObject({}))],
      get: [requireLogin, onlyOneself],
      create: [validateData(userData), hashPassword('password')],
      patch: [
        requireLogin,
        onlyOneself,
        validateData(userPatch),
        proveNewPassword,
        hashPassword('password'),
      ],
    },
    after: { all: [protect('password')] },
  })
}

/** Everybody else is not found. */
function onlyOneself({ params }: { params: UserParams }): void {
  if (params.provider !== undefined) params.query = { ...params.query, _id: userOf(params)._id }
}

/** A token may be stolen: whoever sets a new password knows the one until now. */
const proveNewPassword: Hook<UserService, 'patch'> = async (context) => {
  const { app, params } = context
  const { currentPassword, ...data } = context.data
  context.data = data
  if (params.provider === undefined || data.password === undefined) return
  const { email } = userOf(params)
  const { provider, address } = params
  const authentication = { strategy: 'local', email, password: currentPassword }
  // Guesses count as those of a login do.
  await authenticateParams(app, { provider, address, authentication }, 'local')
}

/** Puts the author into the records of a call, by the same command to the database. */
export function withAuthor({ params }: { params: MongoDBParams }): void {
  const author = {
    from: 'users',
    localField: 'authorId',
    foreignField: '_id',
    pipeline: [{ $project: { name: 1 } }],
    as: 'author',
  }
  params.pipeline = [
    { $framework: {} },
    { $lookup: author },
    { $unwind: { path: '$author', preserveNullAndEmptyArrays: true } },
  ]
}

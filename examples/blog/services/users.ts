import type { Db } from 'mongodb'
import type { Hook, RecordQuery } from 'remex'
import { authenticateParams, hashPassword, protect } from 'remex/auth'
import type { MongoDBParams } from 'remex/mongodb'
import { MongoDBListService } from 'remex/mongodb'
import type { Static } from 'remex/schema'
import { resolveData, Type } from 'remex/schema'
import type { Blog } from '../app.ts'
import { requireLogin, userOf } from '../authentication.ts'
import { Email, Id, lowerEmail, toText } from '../fields.ts'

/** A stored user: the email in lower case, the password as its hash. */
const User = Type.Object({
  _id: Id,
  email: Email,
  name: toText(100),
  password: Type.String({ minLength: 12, maxLength: 1_000 }),
})
export type User = Static<typeof User>

/** What others see of a user. */
export const Author = Type.Pick(User, ['_id', 'name'])

const UserData = Type.Omit(User, ['_id'])
const { name, password } = User.properties
const UserPatch = Type.Partial(Type.Object({ name, password, currentPassword: Type.String() }), {
  dependentRequired: { password: ['currentPassword'] },
})

type UserData = Static<typeof UserData>
type UserPatch = Static<typeof UserPatch>
type UserParams = MongoDBParams<RecordQuery<User>>

export class UserService extends MongoDBListService<User, UserData, UserParams> {}

export const userOptions = {
  methods: ['get', 'create', 'patch'],
  schemas: {
    entity: Type.Omit(User, ['password']),
    create: UserData,
    patch: UserPatch,
    query: Type.Object({}),
  },
} as const

export function addUsers(app: Blog, db: Db): void {
  const users = new UserService({
    Model: db.collection('users'),
    hidden: ['password'],
    indexes: [{ key: { email: 1 }, unique: true }],
  })
  app.use('users', users, userOptions)
  app.service('users').hooks({
    around: { get: [requireLogin], patch: [requireLogin] },
    before: {
      get: [onlyOneself],
      create: [resolveData(lowerEmail), hashPassword('password')],
      patch: [onlyOneself, checkCurrentPassword, hashPassword('password')],
    },
    after: { all: [protect('password')] },
  })
}

/** Limits callers to their own record; others return 404. */
function onlyOneself({ params }: { params: UserParams }): void {
  if (params.provider !== undefined) params.query = { ...params.query, _id: userOf(params)._id }
}

/** Requires the current password for a new one, because a token may be stolen. */
const checkCurrentPassword: Hook<UserService, 'patch'> = async (context) => {
  const { app, params } = context
  const { currentPassword, ...data } = context.data as UserPatch
  context.data = data
  if (params.provider === undefined || data.password === undefined) return
  const { email } = userOf(params)
  const { provider, address } = params
  const authentication = { strategy: 'local', email, password: currentPassword }
  // Wrong passwords count towards the limit of failing logins.
  await authenticateParams(app, { provider, address, authentication }, 'local')
}

/** Adds the author to the records of a call, in the same database command. */
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

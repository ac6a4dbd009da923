import type { Collection, ObjectId } from 'mongodb'
import type { AuditEntry, StoredAnswer } from '../../src/adapter/index.ts'
import {
  audit,
  createdBy,
  idempotent,
  limitTo,
  MongoDBService,
  softDelete,
  timestamps,
  updatedBy,
} from '../../src/adapter/index.ts'
import { authenticate } from '../../src/auth/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { UserService } from './account-services.ts'
import { expectType } from './expect-type.ts'

// Hooks for records stand in hook maps as they are, of all methods and of one.

interface Post {
  _id: ObjectId
  text: string
  ownerId: ObjectId
  deletedAt?: Date
}

declare const Model: Collection<Post>
declare const Log: Collection<AuditEntry & { _id: ObjectId }>
declare const Answers: Collection<StoredAnswer>
declare const ownerId: ObjectId
const posts = new MongoDBService({ Model, paginate: { default: 10 } })
const log = new MongoDBService({ Model: Log })
const repeats = new MongoDBService({ Model: Answers })
const app = createApp<{
  users: UserService
  posts: typeof posts
  log: typeof log
  repeats: typeof repeats
}>()

app.service('posts').hooks({
  around: { all: [authenticate('jwt')], remove: audit({ service: 'log', omit: ['text'] }) },
  before: {
    all: [softDelete(), softDelete({ field: 'deletedAt' })],
    find: [
      limitTo<Post>(({ user }) => {
        expectType<unknown>()(user)
        return { $or: [{ ownerId }, { text: { $in: ['a'] } }] }
      }),
    ],
    create: [timestamps({ createdAt: 'at' }), createdBy(), updatedBy({ by: () => null })],
    patch: limitTo(async ({ route }) => ({ team: route?.['team'] ?? '' })),
    remove: [limitTo(() => ({})), limitTo(() => null)],
  },
})
app.service('posts').hooks([audit({ service: 'log' })])
app.service('posts').hooks({
  around: {
    all: [idempotent({ service: 'repeats' })],
    create: idempotent({ service: 'repeats', required: true, expireAfterSeconds: 60, by: () => 1 }),
  },
})
// @ts-expect-error the service of the answers is required
idempotent({ required: true })

// @ts-expect-error a field has values of its type
limitTo<Post>(() => ({ text: 5 }))
// @ts-expect-error an option that there is not
softDelete({ fields: 'deletedAt' })

// Inside the process alone: no transport sets it.
await app.service('posts').find({ withDeleted: true })
await app.service('posts').remove(ownerId, { withDeleted: true })
// @ts-expect-error it is true or false
await app.service('posts').find({ withDeleted: 'yes' })

const [entry] = await log.find()
expectType<Date | undefined>()(entry?.at)
expectType<'create' | 'update' | 'patch' | 'remove' | undefined>()(entry?.method)

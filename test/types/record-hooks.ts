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

// A field that the record does not have is a typo.
interface Task extends Post {
  team: { id: string; lead?: { name: string } }
  members: readonly { id: string; role: string }[]
}
declare const role: string
limitTo<Task>(() => ({ 'team.id': 'a', 'team.lead.name': 'a', 'members.id': { $in: ['a'] } }))
limitTo<Task>(() => (role === 'editor' ? {} : { ownerId }))
// @ts-expect-error there is no field 'ownr'
limitTo<Task>(() => ({ ownr: ownerId }))
// @ts-expect-error also where another branch has a condition
limitTo<Task>(() => (role === 'editor' ? {} : { ownr: ownerId }))
// @ts-expect-error also in a promise
limitTo<Task>(async () => ({ ownr: ownerId }))
// @ts-expect-error also in an alternative
limitTo<Task>(() => ({ $or: [{ ownr: ownerId }] }))
// @ts-expect-error also inside of a field
limitTo<Task>(() => ({ 'team.idd': 'a' }))
// @ts-expect-error also inside of a list
limitTo<Task>(() => ({ 'members.idd': 'a' }))
// @ts-expect-error a field inside of another one has values of its type
limitTo<Task>(() => ({ 'team.id': 5 }))
// What the type of a record leaves open may have any name.
limitTo<Post & { meta: Record<string, unknown> }>(() => ({ 'meta.tenant': 'a' }))
limitTo(() => ({ anything: 1 }))

timestamps<Post & { at: Date }>({ createdAt: 'at', updatedAt: 'at' })
createdBy<Post>({ field: 'ownerId' })
softDelete<Post>({ field: 'deletedAt' })
// @ts-expect-error there is no field 'ownr'
createdBy<Post>({ field: 'ownr' })
// @ts-expect-error there is no field 'ownr'
updatedBy<Post>({ field: 'ownr' })
// @ts-expect-error there is no field 'createdAt'
timestamps<Post>({ createdAt: 'createdAt' })
// @ts-expect-error there is no field 'removedAt'
softDelete<Post>({ field: 'removedAt' })
// @ts-expect-error options are an object
createdBy('ownr')

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

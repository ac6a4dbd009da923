import type { Db, ObjectId } from 'mongodb'
import type { MongoDBListService } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type {
  ApiKeyRecord,
  CreatedApiKey,
  ServedApiKeys,
  ServedSessions,
  SessionRecord,
} from '../../src/auth/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { Page } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import { fastifyApp } from '../../src/transport/index.ts'
import { expectType } from './expect-type.ts'

interface Services {
  sessions: ServedSessions<MongoDBService<SessionRecord>>
  'api-keys': ServedApiKeys<MongoDBService<ApiKeyRecord>>
  'robots/keys': ServedApiKeys<MongoDBListService<ApiKeyRecord>>
}

declare const db: Db
declare const id: ObjectId

// What is registered is the service of the database
const app = fastifyApp(createApp<Services>())
app.use('robots/keys', new MongoDBService({ Model: db.collection<ApiKeyRecord>('r') }))
app.use(
  'sessions',
  new MongoDBService({ Model: db.collection<SessionRecord>('s'), paginate: { default: 20 } }),
  { methods: ['find', 'get', 'remove'] },
)
app.use(
  'api-keys',
  new MongoDBService({ Model: db.collection<ApiKeyRecord>('k'), paginate: { default: 20 } }),
)
// @ts-expect-error it stores no keys
app.use('api-keys', { find: async () => [] })
const paged = new MongoDBService({
  Model: db.collection<ApiKeyRecord>('r'),
  paginate: { default: 5 },
})
// @ts-expect-error pages where the map says lists
app.use('robots/keys', paged)

// Calls within the process see the records
const sessions = app.service('sessions')
expectType<Promise<Page<SessionRecord>>>()(sessions.find({ query: { userId: 'a' } }))
expectType<Promise<SessionRecord[]>>()(sessions.find({ paginate: false }))
expectType<Promise<SessionRecord>>()(sessions.remove('a'))
sessions.hooks({ after: { remove: [({ result }) => void [result].flat()] } })
const keys = app.service('api-keys')
expectType<Promise<Page<ApiKeyRecord>>>()(keys.find({ query: { userId: 'a', $limit: 1 } }))
expectType<Promise<ApiKeyRecord[]>>()(app.service('robots/keys').find())
expectType<Promise<ApiKeyRecord>>()(keys.get(id))
expectType<Promise<ApiKeyRecord[]>>()(
  keys.remove(null, { query: { userId: { $in: ['a'] } }, adapter: { multi: ['remove'] } }),
)
const expiresAt = new Date()
expectType<Promise<CreatedApiKey>>()(keys.create({ userId: id, name: 'a', scopes: [], expiresAt }))
expectType<Promise<CreatedApiKey>>()(keys.create({ name: 'a' }))
// @ts-expect-error the name is missing
keys.create({ userId: 'a' })
// @ts-expect-error a misspelled field
keys.create({ name: 'a', scope: [] })
// @ts-expect-error no such field
keys.find({ query: { owner: 'a' } })
keys.hooks({ before: { create: [({ data }) => void data] } })

// Clients see what the guard shows
interface SentKey {
  readonly _id: string
  readonly name: string
  readonly start: string
  readonly scopes: readonly string[]
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly usedAt: string | null
}

const client = createClient<Services>()
const own = client.service('sessions')
const page = await own.find({ query: { $limit: 5, $sort: { usedAt: -1 } } })
expectType<boolean | undefined>()(page.data[0]?.current)
expectType<string | undefined>()(page.data[0]?.usedAt)
// @ts-expect-error it is not shown
page.data[0]?.userId
expectType<string>()((await own.remove('a')).expiresAt)
// @ts-expect-error sessions cannot be created
own.create({})
// @ts-expect-error own sessions have no conditions
own.find({ query: { userId: 'a' } })
const mine = client.service('api-keys')
const made = await mine.create({ name: 'a', scopes: ['read'], expiresAt: '2030-01-31T12:00:00Z' })
expectType<string>()(made.key)
expectType<string>()(made._id)
expectType<Promise<Page<SentKey>>>()(mine.find())
expectType<Promise<SentKey[]>>()(client.service('robots/keys').find())
expectType<SentKey>()(await mine.get(made._id))
// @ts-expect-error it is shown once
;(await mine.get('a')).key
// @ts-expect-error the caller is the user
mine.create({ name: 'a', userId: 'b' })
// @ts-expect-error keys do not change
mine.patch('a', { name: 'b' })

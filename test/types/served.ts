import { z } from 'zod'
import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import type { AuthenticationService } from '../../src/auth/index.ts'
import type { Client } from '../../src/client/index.ts'
import { createClient, rest } from '../../src/client/index.ts'
import type { Hook, Id, Page, Params, ServiceOptions } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { JSONSchema, Served, Static } from '../../src/core/schema/index.ts'
import { DateSchema, querySyntax, Type } from '../../src/core/schema/index.ts'
import { fastifyApp } from '../../src/transport/index.ts'
import { expectType } from './expect-type.ts'

const User = Type.Object({
  _id: ObjectIdSchema(),
  email: Type.String(),
  password: Type.String(),
  since: DateSchema(),
  nick: Type.Optional(Type.Union([Type.String(), Type.Null()])),
})
type User = Static<typeof User>

interface SentUser {
  _id: string
  email: string
  since: string
  nick?: string | null
}

class UserService extends MongoDBService<User> {
  async invite(data: { to: string; secret?: string }, _params?: Params): Promise<User> {
    return this.get(data.to)
  }
  async purge(): Promise<number> {
    return 0
  }
}

const userOptions = {
  methods: ['get', 'create', 'patch', 'invite'],
  schemas: {
    entity: Type.Omit(User, ['password']),
    create: Type.Omit(User, ['_id', 'since']),
    methods: { invite: { data: Type.Object({ to: Type.String() }) } },
  },
} as const

const logOptions = {
  schemas: { result: Type.Object({ text: Type.String() }), create: true },
} as const

const noteOptions = {
  schemas: {
    entity: User,
    result: Type.Pick(User, ['email']),
    create: Type.Object({ email: Type.String(), at: DateSchema() }),
    update: Type.Object({ email: Type.String() }),
    patch: Type.Partial(
      Type.Object({ since: DateSchema(), $unset: Type.Object({ nick: Type.Literal('') }) }),
    ),
    query: querySyntax(Type.Pick(User, ['email', 'since']), { email: { $regex: Type.String() } }),
  },
} as const

class LogService {
  async find(_params?: Params): Promise<{ text: string; secret: string }[] | null> {
    return null
  }
  async get(_id: Id): Promise<{ text: string; secret: string } | undefined> {
    return undefined
  }
  async create(data: { text: string }): Promise<{ text: string }> {
    return data
  }
}

const bareOptions = { methods: ['find', 'purge'] } as const
const closedOptions = {
  methods: ['get', 'remove'],
  schemas: { query: Type.Object({}), result: true },
} as const
const silentOptions = { methods: ['find'], schemas: {} } as const

interface Services {
  users: Served<UserService, typeof userOptions>
  notes: Served<MongoDBService<User>, typeof noteOptions>
  logs: Served<LogService, typeof logOptions>
  bare: Served<UserService, typeof bareOptions>
  closed: Served<UserService, typeof closedOptions>
  silent: Served<LogService, typeof silentOptions>
  'rooms/:roomId/users': Served<UserService, typeof closedOptions>
  open: UserService
}

declare const service: UserService
declare const notes: MongoDBService<User>
declare const logs: LogService

// Within the process, the service is whole
const app = createApp<Services>()
expectType<Promise<User>>()(app.service('users').get('1'))
expectType<Promise<User[]>>()(app.service('users').find({ paginate: false }))
expectType<Promise<number>>()(app.service('users').purge())
const hook: Hook<UserService, 'create'> = ({ data }) => void [data].flat()
app.service('users').hooks({ before: { create: [hook], invite: [({ data }) => data.to] } })
app.service('users').on('created', (user) => expectType<User>()(user))

// The options are those of the map
app.use('users', service, userOptions).use('logs', logs, logOptions).use('open', service)
app.use('open', service, { methods: ['get'] })
app.use('bare', service, { methods: ['find', 'purge'] } as const)
// @ts-expect-error they are missing
app.use('users', service)
// @ts-expect-error others
app.use('users', service, logOptions)
// @ts-expect-error more than those
app.use('bare', service, { methods: ['find', 'purge'], events: ['a'] } as const)
// @ts-expect-error a method less
app.use('bare', service, { methods: ['find'] } as const)
// @ts-expect-error a method more
app.use('bare', service, { methods: ['find', 'purge', 'get'] } as const)
const more = { ...bareOptions, schemas: { result: User } } as const
// @ts-expect-error schemas beside
app.use('bare', service, more)
const { entity, ...others } = userOptions.schemas
const wider = Type.Object({ ...entity.properties, password: Type.Optional(Type.String()) })
// @ts-expect-error a wider result
app.use('users', service, { ...userOptions, schemas: { ...others, entity: wider } })
// @ts-expect-error a result beside the entity
app.use('users', service, { ...userOptions, schemas: { entity, ...others, result: User } })
// @ts-expect-error not the service for this path
app.use('users', logs, userOptions)
createApp().use('users', service, userOptions)

const server = fastifyApp(createApp<Services>())
const middleware = async (): Promise<void> => undefined
server.use('users', service, userOptions).use('users', middleware, service, middleware, userOptions)
server.use('open', service).use('open', middleware, service, { methods: ['get'] })
// @ts-expect-error they are missing
server.use('users', service)
// @ts-expect-error they are missing
server.use('users', middleware, service)
// @ts-expect-error others
server.use('users', service, logOptions)
// @ts-expect-error a wider result
server.use('users', service, { ...userOptions, schemas: { ...others, entity: wider } })
// @ts-expect-error schemas beside
server.use('bare', service, more)

// @ts-expect-error no such method
type Misspelt = Served<UserService, { readonly methods: readonly ['gett'] }>
// @ts-expect-error any method
type Any = Served<UserService, { readonly methods: readonly string[] }>

export type { Any, Misspelt }

// A client knows what travels
const client = createClient<Services>({
  baseURL: 'http://a',
  methods: { users: userOptions.methods, bare: ['find', 'purge'] },
})
const users = client.service('users')
expectType<Promise<SentUser>>()(users.get('1'))
expectType<Promise<SentUser>>()(users.create({ email: 'a', password: 'b' }))
expectType<Promise<SentUser[]>>()(users.create([{ email: 'a', password: 'b', nick: null }]))
expectType<Promise<SentUser>>()(users.patch('1', { email: 'a' }))
expectType<Promise<SentUser>>()(users.patch('1', { nick: null }))
expectType<Promise<SentUser[]>>()(users.patch(null, { nick: 'a' }, { query: { email: 'b' } }))
expectType<Promise<Pick<SentUser, 'email' | '_id'>>>()(
  users.get('1', { query: { $select: ['email'] } }),
)
users.get('1', { query: { since: { $gt: new Date() }, nick: '', $or: [{ email: 'a' }] } })
users.on('created', (user) => expectType<SentUser>()(user))
// @ts-expect-error not sent
users.get('1').then(({ password }) => password)
// @ts-expect-error not listed
users.find()
// @ts-expect-error not listed
users.remove('1')
// @ts-expect-error not listed
users.purge()
// @ts-expect-error no such data
users.create({ email: 'a', password: 'b', since: new Date() })
// @ts-expect-error a field is missing
users.create({ email: 'a' })
// @ts-expect-error set by the server
users.patch('1', { since: new Date() })
// @ts-expect-error no operator of updates is in the schema
users.patch('1', { $inc: { likes: 1 } })
// @ts-expect-error callers can not ask for it
users.get('1', { query: { password: 'a' } })
// @ts-expect-error callers can not ask for it
users.get('1', { query: { $select: ['password'] } })

// Custom methods are those of the list
expectType<
  Promise<{ _id: string; email: string; password: string; since: string; nick?: string | null }>
>()(users.invite({ to: 'a' }))
// @ts-expect-error the schema of the data does not have it
users.invite({ to: 'a', secret: 'b' })
expectType<Promise<number>>()(client.service('bare').purge(undefined))
// @ts-expect-error the list is missing
createClient<Services>({ baseURL: 'http://a' })
// @ts-expect-error the list is missing
createClient<Services>()
// @ts-expect-error one is missing
createClient<Services>({ methods: { users: userOptions.methods } })
// The custom methods are enough.
const custom = createClient<Services>({ methods: { users: ['invite'], bare: ['purge'] } })
expectType<Promise<number>>()(custom.service('bare').purge(undefined))
// @ts-expect-error a part of the list that lacks the custom method
createClient<Services>({ methods: { users: ['find'], bare: ['purge'] } })
// @ts-expect-error a custom method is missing
createClient<Services>({ methods: { users: ['invite'], bare: [] } })
const methods = { users: userOptions.methods, bare: bareOptions.methods, open: ['invite'] } as const
createClient<Services, typeof methods>({ methods }).service('open').invite({ to: 'a' })
createClient<Services, typeof methods>({ methods }).service('users').invite({ to: 'a' })
// @ts-expect-error the second type argument is missing
createClient<Services>({ methods })
// @ts-expect-error the list of the map is missing
createClient<Services, { open: ['invite'] }>({ methods: { open: ['invite'] } })
createClient<Omit<Services, 'users' | 'bare'>>().service('logs')

// Schemas of each method
expectType<Promise<Page<{ email: string }>>>()(client.service('notes').find())
client.service('notes').find({ query: { email: { $regex: 'a' }, since: '2026-01-01T00:00:00Z' } })
// @ts-expect-error not in the query
client.service('notes').find({ query: { nick: 'a' } })
client.service('notes').create({ email: 'a', at: new Date() })
client.service('notes').update('1', { email: 'a' })
client.service('notes').patch('1', { since: '2026-01-01T00:00:00Z' })
client.service('notes').patch('1', { $unset: { nick: '' } })
// @ts-expect-error the schema does not let it be removed
client.service('notes').patch('1', { $unset: { email: '' } })
// @ts-expect-error another schema
client.service('notes').update('1', { email: 'a', at: new Date() })
// @ts-expect-error another schema
client.service('notes').patch('1', { email: 'a' })

// A standard method may have an answer and a query of its own
const envelopeOptions = {
  methods: ['find', 'get'],
  schemas: {
    entity: Type.Pick(User, ['email']),
    methods: {
      find: {
        query: Type.Object({ page: Type.Optional(Type.Integer()) }),
        result: Type.Object({ users: Type.Array(Type.Pick(User, ['email', 'since'])) }),
      },
    },
  },
} as const
const enveloped = createClient<{ users: Served<UserService, typeof envelopeOptions> }>()
expectType<Promise<{ users: { email: string; since: string }[] }>>()(
  enveloped.service('users').find({ query: { page: 2 } }),
)
// @ts-expect-error not in this query
enveloped.service('users').find({ query: { email: 'a' } })
expectType<Promise<{ email: string }>>()(
  enveloped.service('users').get('1', { query: { email: 'a' } }),
)

// Results keep their kind, and data that is not described the type of the service
expectType<Promise<{ text: string }[] | null>>()(client.service('logs').find())
expectType<Promise<{ text: string } | null>>()(client.service('logs').get(1))
expectType<Promise<{ text: string }>>()(client.service('logs').create({ text: 'a' }))
// @ts-expect-error no such data
client.service('logs').create({ txt: 'a' })

// Queries that nothing says anything of
client.service('closed').get('1', { query: {} })
// @ts-expect-error no query is allowed
client.service('closed').get('1', { query: { email: 'a' } })
// @ts-expect-error no query is allowed
client.service('silent').find({ query: { $limit: 1 } })
// @ts-expect-error the path has a placeholder
client.service('rooms/:roomId/users').get('1')
client.service('rooms/:roomId/users').get('1', { route: { roomId: '2' } })

// Schemas of other kinds
const event = {
  type: 'object',
  properties: { at: { type: 'string' }, size: { type: 'number' } },
  required: ['at'],
} as const
declare const anySchema: JSONSchema
const eventOptions = {
  schemas: {
    result: event,
    create: z.object({ at: z.string().transform((text) => new Date(text)) }),
  },
} as const
const anyOptions = { schemas: { result: anySchema, create: anySchema } } as const
const statedOptions: ServiceOptions<'get' | 'find'> = {
  methods: ['get'],
  schemas: { entity: Type.Omit(User, ['password']) },
}
const schemaClient = createClient<{
  events: Served<EventService, typeof eventOptions>
  any: Served<EventService, typeof anyOptions>
  stated: Served<UserService, typeof statedOptions>
}>()
class EventService {
  async get(_id: Id): Promise<{ at: Date; secret: string }> {
    throw new Error('none')
  }
  async create(data: { at: Date }): Promise<{ at: Date; secret: string }> {
    return { ...data, secret: '' }
  }
}
expectType<Promise<{ at: string; size?: number }>>()(schemaClient.service('events').get(1))
schemaClient.service('events').create({ at: '2026' })
// @ts-expect-error no string
schemaClient.service('events').create({ at: 2026 })
expectType<Promise<unknown>>()(schemaClient.service('any').get(1))
schemaClient.service('any').create({ anything: 1 })
expectType<Promise<unknown>>()(schemaClient.service('stated').get('1'))
// @ts-expect-error not listed
schemaClient.service('stated').remove('1')

// The user of a login is the one that its result describes
const loginOptions = {
  methods: ['create', 'remove'],
  schemas: {
    create: true,
    result: Type.Object({ accessToken: Type.String(), user: Type.Omit(User, ['password']) }),
  },
} as const
interface Logins {
  authentication: Served<AuthenticationService, typeof loginOptions>
}
const login = await createClient<Logins>().authenticate({ strategy: 'local' })
expectType<SentUser>()(login.user)
const plainOptions = { methods: ['create'] } as const
interface PlainLogins {
  authentication: Served<AuthenticationService, typeof plainOptions>
}
expectType<unknown>()((await createClient<PlainLogins>().authenticate()).user)

// The rest of the client
const other = rest<Services>('http://a').ofetch()
client.use('users', other.service('users'))
expectType<Promise<SentUser>>()(other.service('users').get('1'))
declare const given: Client<Services>
expectType<Promise<SentUser>>()(given.service('users').get('1'))
app.use('notes', notes, noteOptions)

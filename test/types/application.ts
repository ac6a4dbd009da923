import type { Application, Id, IdObject, Page } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { ListService, Services, Settings, User, UserParams } from './account-services.ts'
import { clock, UserService } from './account-services.ts'
import { expectType } from './expect-type.ts'

const app = createApp<Services, Settings>()
const users = app.service('users')

// Calls
expectType<Promise<User>>()(users.get(1))
expectType<Promise<Page<User>>>()(users.find({ tenant: 'a', query: { email: 'x' } }))
expectType<Promise<User>>()(users.create({ email: 'x' }))
expectType<Promise<User[]>>()(users.create([{ email: 'x' }]))
expectType<Promise<User[]>>()(users.patch(null, {}))
expectType<Promise<{ sent: boolean }>>()(users.invite({ to: 'x' }))
expectType<Promise<{ id: 'now' | 'then'; at: Date }>>()(app.service('clock').get('now'))
expectType<Promise<string[]>>()(app.service('users/:userId/words').find({ query: { word: 'a' } }))

// @ts-expect-error no such path
app.service('user')
// @ts-expect-error an id is a string or a number
users.get({})
// @ts-expect-error no such data
users.create({ mail: 'x' })
// @ts-expect-error no such params
users.find({ tenants: 'a' })
// @ts-expect-error the service has no such method
users.remove(1)
// @ts-expect-error the literal takes two ids only
app.service('clock').get('later')

// Registration
app.use('users', new UserService(), { methods: ['find', 'invite'], events: ['invited'] })
app.use('clock', clock).use('clock', { get: async (id) => ({ id, at: new Date() }) })
// @ts-expect-error no such path
app.use('user', new UserService())
// @ts-expect-error not the service for this path
app.use('users', clock)
// @ts-expect-error the result has another type
app.use('clock', { get: async (id) => ({ id, at: 'today' }) })
// @ts-expect-error no such method
app.use('users', new UserService(), { methods: ['invites'] })
// @ts-expect-error not for callers
app.use('users', new UserService(), { methods: ['setup'] })
// @ts-expect-error no such option
app.use('users', new UserService(), { method: ['find'] })

expectType<Promise<typeof clock | undefined>>()(app.unuse('clock'))

// Settings: those that may be missing are declared so
expectType<number>()(app.get('port'))
expectType<string>()(app.get('authentication').secret)
expectType<string | undefined>()(app.get('host'))
app.set('port', 3030).set('authentication', { secret: 's' })
// @ts-expect-error no such setting
app.get('hosts')
// @ts-expect-error a port is a number
app.set('port', '3030')

// Functions that take an application
declare function configureAny(given: Application): void
declare function configureThis(given: Application<Services, Settings>): void
declare function configureSome(given: Application<Pick<Services, 'users'>>): void
app.configure(configureAny).configure(configureThis).configure(configureSome)
app.configure((given) => expectType<typeof app>()(given))
configureAny(app)

// Without types
const anyApp = createApp()
anyApp.use('x', { get: async (id) => expectType<Id>()(id) }).use('x', { shout: async () => 1 })
anyApp.use('x', { get: async (id: string) => id.length }).use('x', { find: async () => 1 })
anyApp.use('x', { find: async () => 1 }).use('y', new UserService(), { methods: ['invite'] })
expectType<Promise<unknown>>()(anyApp.service('x').find())
expectType<Promise<unknown>>()(anyApp.service('x').update(1, {}, { query: {} }))
declare const objectId: IdObject
expectType<Promise<unknown>>()(anyApp.service('x').get(objectId))
anyApp.service('x').patch(objectId, {})
anyApp.service('x').remove(null)
// @ts-expect-error no id
anyApp.service('x').get({ id: 1 })
anyApp.service('x')['invite']?.({ to: 'x' })
expectType<unknown>()(anyApp.get('anything'))
anyApp.set('anything', 1).configure(configureAny)
// @ts-expect-error no object
anyApp.use('x', 1)

// Mounted applications
anyApp.use('api', app)
createApp<{ clock: typeof clock }>().use('api', anyApp)

// Services by type alone
declare const words: ListService
declare const params: UserParams
createApp<{ words: ListService }>().use('words', words)
createApp<{ all: Pick<UserService, 'find'> }>().service('all').find(params)

import type {
  AnyService,
  Application,
  ApplicationHookOptions,
  AroundHook,
  Hook,
  HookContext,
  HookOptions,
  Id,
  IdObject,
  LifecycleHook,
  MethodEntry,
  RegisteredService,
  ServiceAddons,
} from '../../src/core/index.ts'
import { createApp, createContext, findServiceEntry } from '../../src/core/index.ts'
import type { AddonName } from '../../src/core/method-arguments.ts'
import type {
  Services,
  Settings,
  User,
  UserData,
  UserParams,
  UserService,
} from './account-services.ts'
import { expectType } from './expect-type.ts'

const app = createApp<Services, Settings>()
const users = app.service('users')

const log: Hook = (context) => expectType<string>()(context.path)
const time: AroundHook = async (_context, next) => next()

// What an authenticate hook has found out
const listScopes: Hook = ({ params }) => {
  expectType<readonly string[] | undefined>()(params.authentication?.payload?.scopes)
  expectType<string | undefined>()(params.authentication?.payload?.sub)
  expectType<unknown>()(params.authentication?.payload?.['keyId'])
}
users.hooks({ before: { find: [listScopes] } })

// Contexts by service and method
users.hooks({
  before: {
    all: [
      (context) => {
        expectType<UserService>()(context.service)
        expectType<Application<Services, Settings>>()(context.app)
        expectType<unknown>()(context.data)
        expectType<string | undefined>()(context.params.provider)
      },
    ],
    find: (context) => {
      expectType<UserParams>()(context.params)
      expectType<undefined>()(context.id)
      expectType<undefined>()(context.data)
      expectType<'find'>()(context.method)
    },
    get: [
      async (context) => {
        expectType<Id>()(context.id)
      },
    ],
    create: (context) => {
      expectType<UserData | UserData[]>()(context.data)
      // @ts-expect-error create has no id
      context.id = 1
      // @ts-expect-error data of another type
      context.data = { mail: 'x' }
      // @ts-expect-error data of another type
      context.data = { email: 1 }
      // More fields than callers may send
      context.data = { email: 'x', createdAt: new Date() }
      context.data = [{ email: 'x', createdAt: new Date() }]
      if (!Array.isArray(context.data)) context.data = { ...context.data, ownerId: 1 }
      else context.data = context.data.map((user) => ({ ...user, ownerId: 1 }))
      expectType<UserData | UserData[]>()(context.data)
    },
    patch: (context) => {
      expectType<Id | null>()(context.id)
      expectType<Partial<UserData>>()(context.data)
      context.params = { tenant: 'a' }
    },
    invite: [(context) => expectType<{ to: string }>()(context.data)],
  },
  after: {
    get: (context) => expectType<User | undefined>()(context.result),
    create: [(context) => expectType<User | User[] | undefined>()(context.result)],
    find: (context) => {
      expectType<User[] | undefined>()(context.result?.data)
      expectType<Promise<User>>()(context.app.service('users').get(1))
      expectType<number>()(context.app.get('port'))
    },
  },
  error: {
    all: (context) => expectType<unknown>()(context.error),
    get: [(context) => expectType<'get'>()(context.method)],
  },
  around: {
    get: async (context, next) => {
      expectType<void>()(await next())
      expectType<User | undefined>()(context.result)
    },
    find: [async (_context, next) => next()],
  },
})

// Formats
users.hooks({ before: (context) => expectType<string>()(context.method) })
users.hooks({ after: [(context) => context.path, async (context) => context.path] })
users.hooks([async (context, next) => next().then(() => context.http)])
users.hooks({ get: async (context, next) => next().then(() => context.result?.email) })
users.hooks({ find: [async (context, next) => next().then(() => context.result?.data)] })

users.hooks({ error: () => undefined, after: [...[log], (context) => context.path] })
users.hooks({})

// Hooks that are made elsewhere
const checks = { before: { get: [log], all: log }, after: [log] }
const stated: HookOptions<UserService, typeof app> = checks
const byMethod: Record<string, Hook[]> = { get: [log] }
users.hooks(checks)
users.hooks(stated)
users.hooks({ ...checks, error: log, before: byMethod })
users.hooks({ before: app.get('host') ? checks.before : [log] })
users.hooks({ [String(app.get('host'))]: { get: [log] } })
export function addHooks(
  ofService: HookOptions<UserService, typeof app>,
  ofAny: HookOptions<AnyService>,
  ofApplication: ApplicationHookOptions<typeof app>,
): void {
  users.hooks(ofService)
  createApp().service('x').hooks(ofAny)
  app.hooks(ofApplication)
  // @ts-expect-error stated for another service
  app.service('clock').hooks(ofService)
}
export function watchGet<S extends { get(id: Id): Promise<unknown> }>(
  service: RegisteredService<S, typeof app>,
): void {
  service.hooks({ before: { all: [log] }, after: [log] })
}

// @ts-expect-error kinds and methods are not mixed
export const mixed: HookOptions<UserService> = { before: { all: [log] }, get: [time] }
// @ts-expect-error kinds and methods are not mixed
export const mixedList: HookOptions<UserService> = { before: [log], get: [time] }
// @ts-expect-error hooks of the application's life stand alone
export const mixedLife: ApplicationHookOptions<typeof app> = { before: [log], setup: [] }
export const allowed: readonly HookOptions<UserService, typeof app>[] = [
  { before: { find: ({ params }) => expectType<UserParams>()(params) }, after: [log] },
  { get: [async (context, next) => next().then(() => context.result?.email)] },
  [async (_context, next) => next()],
]

// Empty lists for standard methods that are not there
users.hooks({ before: { remove: [] }, around: { remove: [] } })
users.hooks({ remove: [] })

// @ts-expect-error no such method
users.hooks({ before: { remove: [async () => undefined] } })
// @ts-expect-error no such method
users.hooks({ remove: [async (_context, next) => next()] })
// @ts-expect-error no such method, and no standard one
users.hooks({ before: { erase: [] } })
// @ts-expect-error only around hooks get next
users.hooks({ before: { get: async (_context, next) => next() } })
// @ts-expect-error only around hooks get next
users.hooks({ after: { all: [async (_context, next) => next()] } })
// @ts-expect-error only around hooks get next
users.hooks({ error: { get: [async (_context, next) => next()] } })
// @ts-expect-error no such kind
users.hooks({ finally: [] })
// @ts-expect-error no method for callers
users.hooks({ before: { setup: [] } })
// @ts-expect-error a hook is a function
users.hooks({ before: { get: ['log'] } })
// @ts-expect-error a kind has hooks
users.hooks({ before: 'log' })
// @ts-expect-error only around hooks get next
users.hooks({ before: time })
// @ts-expect-error one hook alone says nothing of its kind
users.hooks(log)
// @ts-expect-error kinds and methods are not mixed
users.hooks({ before: [log], get: [time] })

// Methods with the names of array methods
app.service('users/:userId/words').hooks({
  before: {
    find: (context) => expectType<string | undefined>()(context.params.query?.word),
    filter: (context) => expectType<number>()(context.data.min),
    map: [(context) => expectType<string>()(context.data.by)],
    values: (context) => expectType<string>()(context.data.number),
  },
  around: { map: async (context, next) => next().then(() => context.data.by) },
})

// Literals without params get the usual ones
app.service('clock').hooks({
  before: { get: (context) => expectType<string | undefined>()(context.params.provider) },
  after: { get: (context) => expectType<Date | undefined>()(context.result?.at) },
})

// Hooks of the application
app.hooks({
  before: {
    all: [(context) => expectType<number>()(context.app.get('port'))],
    get: (context) => expectType<Id | IdObject>()(context.id),
    find: [(context) => expectType<unknown>()(context.result)],
    invite: (context) => expectType<unknown>()(context.data),
  },
  error: (context) => expectType<string>()(context.path),
})
app.hooks([async (context, next) => next().then(() => context.path)])
app.hooks({ get: [async (context, next) => next().then(() => context.id)] })
app.hooks({
  setup: [async (context, next) => next().then(() => context.server)],
  teardown: async (context, next) => next().then(() => context.app.get('port').toFixed()),
})
// @ts-expect-error hooks of the application's life stand alone
app.hooks({ setup: [], before: [log] })
// @ts-expect-error none of the services has such a method
app.hooks({ before: { creat: [] } })

// Hooks for any service
users.hooks({
  before: [log],
  after: { get: log, create: [log] },
  around: { all: time, get: [time] },
})
users.hooks([time])
app.hooks({ before: [log], error: { get: [log] }, around: [time] })
app.service('clock').hooks({ before: { get: log } })

const reload: Hook = async ({ app: given, path, id }) => {
  if (id !== undefined && id !== null) await given.service(path).get(id)
}
users.hooks({ after: { patch: [reload] } })

// Hooks for any application get the whole of it
declare function audit(given: Application): void
const watch: Hook = (context) => {
  expectType<Application>()(context.app)
  audit(context.app)
}
const report: LifecycleHook = async (context, next) => {
  await next()
  audit(context.app)
}
declare const method: MethodEntry
app.hooks({ after: [watch] })
app.hooks({ setup: report })
export const ofLife: ApplicationHookOptions<typeof app> = { setup: [report] }
expectType<HookContext>()(createContext(method, {}, []))
expectType<Application | undefined>()(findServiceEntry(users)?.app)
users.on('created', (_user, context) => watch(context))

// The members that hooks are not for
declare const addon: keyof ServiceAddons<object>
expectType<AddonName>()(addon)

// Hooks for services that offer something
const load: Hook<{ get(id: Id): Promise<unknown> }> = (context) => context.service.get(1)
users.hooks({ before: { patch: load } })
// @ts-expect-error the service has no get
app.service('users/:userId/words').hooks({ before: { find: load } })

// Hooks for one service and method
const checkEmail: Hook<UserService, 'patch'> = (context) => context.data.email?.toLowerCase()
users.hooks({ before: { patch: [checkEmail] } })
// @ts-expect-error a hook for another method
users.hooks({ before: { find: [checkEmail] } })
const checkOwner: Hook<UserService, 'get' | 'patch'> = ({ params }) =>
  expectType<UserParams>()(params)
users.hooks({ before: { get: [checkOwner], patch: [checkOwner] } })
declare function inspect(context: HookContext): void
users.hooks({ after: { get: (context) => inspect(context) } })

// Without types
const anyApp = createApp()
anyApp.service('x').hooks({
  before: {
    get: [log],
    find: (context) => context.params.query,
    custom: (context) => context.data,
  },
})
anyApp.hooks({ before: (context) => context.path, after: { custom: [log] } })
anyApp.hooks({ setup: [async (context, next) => next().then(() => context.server)] })
anyApp.hooks([async (context, next) => next().then(() => context.path)])
anyApp.hooks({ get: [async (context, next) => next().then(() => context.path)] })

// Hooks whose parameter is written out
const ofTenant = ({ params }: { params: { tenant: string } }) => params.tenant
const ofUser = ({ params, method }: { params: UserParams; method: string }) => [params, method]
const ofNothing = ({ params }: { params: { nonsense: number } }) => params.nonsense
users.hooks({ before: { find: [ofUser], all: ofUser } })
// @ts-expect-error the params of the service may be without a tenant
users.hooks({ before: { get: [ofTenant] } })
// @ts-expect-error no params have this
users.hooks({ before: { get: [ofNothing] } })
// @ts-expect-error no params have this
users.hooks({ around: { all: [async ({ params }: { params: { nonsense: number } }) => params] } })
// @ts-expect-error no params have this
app.hooks({ before: [ofNothing] })

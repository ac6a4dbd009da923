import t from 'tap'

import { compile } from '../../support/compile.ts'

const SOURCE = `import { disallow } from 'feathers-hooks-common'
import type { AroundHook, Hook, HookOptions, Id, Params } from 'remex'
import { createApp } from 'remex'
import { authenticate } from 'remex/auth'
interface User { id: number; email: string }
interface UserData { email: string }
interface UserService {
  find(params?: Params): Promise<User[]>
  get(id: Id, params?: Params): Promise<User>
  create(data: UserData, params?: Params): Promise<User>
  patch(id: Id, data: Partial<UserData>, params?: Params): Promise<User>
}
interface NoteService {
  find(params?: Params): Promise<string[]>
  archive(data: { before: string }, params?: Params): Promise<number>
}
interface Services { users: UserService; notes: NoteService }
interface Settings { port: number; host?: string }
declare const log: Hook
declare const around: AroundHook
declare const ofPatch: Hook<UserService, 'patch'>
declare const ofNotes: Hook<NoteService, 'find'>
declare const promise: Promise<Hook>
declare const service: UserService
const app = createApp<Services, Settings>()
const users = app.service('users')
const notes = app.service('notes')
`

const linesBefore = SOURCE.split('\n').length

/** Mistakes, and what the compiler says about each: the number of the error, and its lines. */
const MISTAKES: Readonly<Record<string, string | readonly string[]>> = {
  'notes.hooks({ before: { archiv: [log] } })': `TS2322: Type 'Hook[]' is not assignable to type '"'archiv' is not a hookable method, those are archive, find"'.`,
  'users.hooks({ before: { remove: [log] } })': `TS2322: Type 'Hook' is not assignable to type '"'remove' is not a hookable method, those are create, find, get, patch"'.`,
  'users.hooks({ before: { remove: log } })': `TS2322: Type 'Hook' is not assignable to type 'readonly "'remove' is not a hookable method, those are create, find, get, patch"[]'.`,
  'users.hooks({ around: { remov: around } })': `TS2322: Type 'AroundHook' is not assignable to type '"'remov' is not a hookable method, those are create, find, get, patch"'.`,
  'users.hooks({ before: { find: [ofPatch] } })': [
    `TS2322: Type 'Hook<UserService, "patch">' is not assignable to type 'HookWithoutNext<UserService, "find", Application<Services, Settings>>'.`,
    `  Type 'Hook<UserService, "patch">' is not assignable to type 'ContextHook<UserService, "find", Application<Services, Settings>>'.`,
    `    Types of parameters 'context' and 'context' are incompatible.`,
    `      Type 'HookContext<UserService, "find", Application<Services, Settings>>' is not assignable to type 'HookContext<UserService, "patch", Application<AnyServices, Record<string, unknown>>>' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.`,
    `        Types of property 'method' are incompatible.`,
    `          Type '"find"' is not assignable to type '"patch"'.`,
  ],
  'users.hooks({ before: { find: [ofNotes] } })': [
    `TS2322: Type 'Hook<NoteService, "find">' is not assignable to type 'HookWithoutNext<UserService, "find", Application<Services, Settings>>'.`,
    `  Type 'Hook<NoteService, "find">' is not assignable to type 'ContextHook<UserService, "find", Application<Services, Settings>>'.`,
    `    Types of parameters 'context' and 'context' are incompatible.`,
    `      Type 'HookContext<UserService, "find", Application<Services, Settings>>' is not assignable to type 'HookContext<NoteService, "find", Application<AnyServices, Record<string, unknown>>>' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.`,
    `        Types of property 'service' are incompatible.`,
    `          Property 'archive' is missing in type 'UserService' but required in type 'NoteService'.`,
  ],
  'users.hooks({ before: { get: [around] } })': [
    `TS2322: Type 'AroundHook' is not assignable to type 'HookWithoutNext<UserService, "get", Application<Services, Settings>>'.`,
    `  Type 'AroundHook' is not assignable to type 'ContextHook<UserService, "get", Application<Services, Settings>>'.`,
    `    Types of parameters 'next' and 'next' are incompatible.`,
    `      Type 'undefined' is not assignable to type 'NextFunction'.`,
  ],
  'users.hooks({ before: { get: async (_context, next) => next() } })': `TS2722: Cannot invoke an object which is possibly 'undefined'.`,
  'users.hooks({ error: [async (_context, next) => next()] })': `TS2722: Cannot invoke an object which is possibly 'undefined'.`,
  'users.hooks({ befor: { all: [log] } })': `TS2322: Type '{ all: Hook[]; }' is not assignable to type '"'befor' is neither a hook type (around, before, after, error) nor a hookable method: those are create, find, get, patch"'.`,
  'users.hooks({ befor: { all: [log] }, after: { all: [log] } })': `TS2322: Type '{ all: Hook[]; }' is not assignable to type '"'befor' is not a valid hook type, allowed are around, before, after, error"'.`,
  'users.hooks({ before: { all: log }, create: [around] })': `TS2322: Type 'AroundHook[]' is not assignable to type '"'create' is not a valid hook type, allowed are around, before, after, error"'.`,
  'users.hooks({ before: { setup: [log] } })': `TS2322: Type 'Hook[]' is not assignable to type '"setup and teardown have hooks of the application: app.hooks({ setup: [hook] })"'.`,
  'users.hooks({ before: { create: { all: log } } })': `TS2353: Object literal may only specify known properties, and 'all' does not exist in type 'OneOrMany<HookWithoutNext<UserService, "create", Application<Services, Settings>>>'.`,
  "users.hooks({ before: { get: ['log'] } })": `TS2322: Type 'string' is not assignable to type 'HookWithoutNext<UserService, "get", Application<Services, Settings>>'.`,
  'users.hooks({ before: { get: [undefined] } })': `TS2322: Type 'undefined' is not assignable to type 'HookWithoutNext<UserService, "get", Application<Services, Settings>>'.`,
  'users.hooks({ before: { get: [promise] } })': `TS2322: Type 'Promise<Hook>' is not assignable to type 'HookWithoutNext<UserService, "get", Application<Services, Settings>>'.`,
  'users.hooks({ before: { get: [authenticate] } })': [
    `TS2322: Type '(first: string | AuthenticateOptions, ...others: string[]) => AuthenticateHook' is not assignable to type 'HookWithoutNext<UserService, "get", Application<Services, Settings>>'.`,
    `  Type '(first: string | AuthenticateOptions, ...others: string[]) => AuthenticateHook' is not assignable to type 'ContextHook<UserService, "get", Application<Services, Settings>>'.`,
    `    Types of parameters 'first' and 'context' are incompatible.`,
    `      Type 'HookContext<UserService, "get", Application<Services, Settings>>' is not assignable to type 'string | AuthenticateOptions'.`,
    `        Property 'strategies' is missing in type 'HookContext<UserService, "get", Application<Services, Settings>>' but required in type 'AuthenticateOptions'.`,
  ],
  'users.hooks({ before: { all: [disallow] } })': [
    `TS2322: Type '<H extends HookContext = HookContext<Application<any, any>, any>>(...transports: TransportName[]) => (context: H) => void' is not assignable to type 'HookWithoutNext<UserService, string, Application<Services, Settings>>'.`,
    `  Type '<H extends HookContext = HookContext<Application<any, any>, any>>(...transports: TransportName[]) => (context: H) => void' is not assignable to type 'ContextHook<UserService, string, Application<Services, Settings>>'.`,
    `    Types of parameters 'transports' and 'context' are incompatible.`,
    `      Type 'HookContext<UserService, string, Application<Services, Settings>>' is not assignable to type 'TransportName'.`,
  ],
  "users.hooks({ before: { create: (context) => (context.data = { mail: 'a' }) } })": [
    `TS2322: Type '{ mail: string; }' is not assignable to type 'NewData<UserData>'.`,
    `  Type '{ mail: string; }' is not assignable to type 'UserData & Fields'.`,
    `    Property 'email' is missing in type '{ mail: string; }' but required in type 'UserData'.`,
  ],
  "users.hooks({ after: { get: (context) => (context.result = { id: 'a', email: 'b' }) } })": `TS2322: Type 'string' is not assignable to type 'number'.`,
  'users.hooks({ before: { find: (context) => context.id.length } })': `TS18048: 'context.id' is possibly 'undefined'.`,
  'users.hooks(log)': `TS2345: Argument of type 'Hook' is not assignable to parameter of type 'HookMap<AnyHookMap<UserService, Application<Services, Settings>>, UserService, Application<Services, Settings>>'.`,
  'export const mixed: HookOptions<UserService> = { before: [log], get: [around] }': `TS2353: Object literal may only specify known properties, and 'get' does not exist in type '(Stated<UserService, Application<AnyServices, Record<string, unknown>>> & ArrayLike<HookWithNext<UserService, string, Application<...>>> & Iterable<...>) | (Stated<...> & ... 4 more ... & None<...>)'.`,
  'export const stated: HookOptions<UserService> = { before: { find: [ofPatch] } }': [
    `TS2322: Type 'Hook<UserService, "patch">' is not assignable to type 'HookWithoutNext<UserService, "find", Application<AnyServices, Record<string, unknown>>>'.`,
    `  Type 'Hook<UserService, "patch">' is not assignable to type 'ContextHook<UserService, "find", Application<AnyServices, Record<string, unknown>>>'.`,
    `    Types of parameters 'context' and 'context' are incompatible.`,
    `      Type 'HookContext<UserService, "find", Application<AnyServices, Record<string, unknown>>>' is not assignable to type 'HookContext<UserService, "patch", Application<AnyServices, Record<string, unknown>>>' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.`,
    `        Types of property 'method' are incompatible.`,
    `          Type '"find"' is not assignable to type '"patch"'.`,
  ],
  "createApp().service('x').hooks({ befor: { find: [log] } })": `TS2353: Object literal may only specify known properties, and 'find' does not exist in type 'HookWithNext<AnyService, "befor", Application<AnyServices, Record<string, unknown>>> | List<HookWithNext<AnyService, "befor", Application<...>>>'.`,
  'app.hooks({ before: { archiv: [log] } })': `TS2322: Type 'Hook[]' is not assignable to type '"'archiv' is not a hookable method, those are archive, create, find, get, patch, remove, update"'.`,
  'app.hooks({ before: { get: [ofPatch] } })': [
    `TS2322: Type 'Hook<UserService, "patch">' is not assignable to type 'HookWithoutNext<AnyService, "get", Application<Services, Settings>>'.`,
    `  Type 'Hook<UserService, "patch">' is not assignable to type 'ContextHook<AnyService, "get", Application<Services, Settings>>'.`,
    `    Types of parameters 'context' and 'context' are incompatible.`,
    `      Type 'HookContext<AnyService, "get", Application<Services, Settings>>' is not assignable to type 'HookContext<UserService, "patch", Application<AnyServices, Record<string, unknown>>>' with 'exactOptionalPropertyTypes: true'. Consider adding 'undefined' to the types of the target's properties.`,
    `        The types of 'service.find(...)' are incompatible between these types.`,
    `          Type 'Promise<unknown>' is not assignable to type 'Promise<User[]>'.`,
    `            Type 'unknown' is not assignable to type 'User[]'.`,
  ],
  'app.hooks({ setup: [around], before: [log] })': `TS2322: Type 'AroundHook[]' is not assignable to type '"'setup' is not a valid hook type, allowed are around, before, after, error"'.`,
  "app.service('userz')": `TS2345: Argument of type '"userz"' is not assignable to parameter of type '"notes" | "users"'.`,
  "app.use('users', { find: async () => [] })": [
    'TS2769: No overload matches this call.',
    '  The last overload gave the following error.',
    `    Type '{ find: () => Promise<never[]>; }' is missing the following properties from type 'UserService': get, create, patch`,
  ],
  "app.use('users', { ...service, get: async () => ({ id: 'a', email: 'b' }) })": [
    'TS2769: No overload matches this call.',
    '  The last overload gave the following error.',
    `    Type 'Promise<{ id: string; email: string; }>' is not assignable to type 'Promise<User>'.`,
    `      Type '{ id: string; email: string; }' is not assignable to type 'User'.`,
    `        Types of property 'id' are incompatible.`,
    `          Type 'string' is not assignable to type 'number'.`,
  ],
  "app.use('userz', service)": [
    'TS2769: No overload matches this call.',
    '  The last overload gave the following error.',
    `    Argument of type '"userz"' is not assignable to parameter of type '"notes" | "users"'.`,
  ],
  "app.use('notes', service)": [
    'TS2769: No overload matches this call.',
    '  The last overload gave the following error.',
    `    Property 'archive' is missing in type 'UserService' but required in type 'NoteService'.`,
  ],
  "app.use('users', service, { methods: ['find', 'invite'] })": `TS2322: Type '"invite"' is not assignable to type 'MethodName<UserService>'.`,
  "app.use('users', service, { method: ['find'] })": `TS2561: Object literal may only specify known properties, but 'method' does not exist in type 'ServiceOptions<MethodName<UserService>>'. Did you mean to write 'methods'?`,
  "app.get('prot')": `TS2345: Argument of type '"prot"' is not assignable to parameter of type '"host" | "port"'.`,
  "app.set('port', '3030')": `TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.`,
  "export const host: string = app.get('host')": [
    `TS2322: Type 'string | undefined' is not assignable to type 'string'.`,
    `  Type 'undefined' is not assignable to type 'string'.`,
  ],
}

t.test('says what is wrong with hooks, services and settings', async (t) => {
  const code = Object.keys(MISTAKES).join('\n')
  const errors = await compile(t, { 'app.ts': `${SOURCE}${code}` })
  const expected = Object.values(MISTAKES).map((message, index) => {
    return `app.ts(${linesBefore + index}): error ${[message].flat().join('\n')}`
  })
  t.same(errors, expected)
})

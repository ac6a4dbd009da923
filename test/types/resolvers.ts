import type { HookContext as FeathersContext } from '@feathersjs/feathers'
import type { ObjectId } from 'mongodb'

import { resolveObjectId, resolveQueryObjectId } from '../../src/adapter/index.ts'
import { passwordHash } from '../../src/auth/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { Resolver } from '../../src/core/schema/index.ts'
import {
  resolve,
  resolveData,
  resolveDispatch,
  resolveExternal,
  resolveQuery,
  resolveResult,
  hooks as schemaHooks,
  virtual,
} from '../../src/core/schema/index.ts'
import type { User as Account, UserService } from './account-services.ts'
import { expectType } from './expect-type.ts'

// Property resolvers, as the generator of Feathers writes them.

interface User extends Account {
  password?: string
  avatar?: string
  fullName: string
  friends: Account[]
  teamId: ObjectId | null
}

interface UserQuery {
  id?: number
  teamId?: ObjectId
}

// biome-ignore lint/suspicious/noExplicitAny: generated applications say so of their own
type GeneratedContext<S = any> = FeathersContext<any, S>

const app = createApp<{ users: UserService }>()
const result = resolve<User, HookContext<UserService>>({
  fullName: virtual(async (user, context) => `${user.email} ${context.path}`),
  friends: virtual(async (_user, context) => (await context.service.find()).data),
  avatar: (value, user) => value ?? `https://example.org/${user.id}.png`,
})
const external = resolve<User, HookContext<UserService>>({
  password: async () => undefined,
  email: (email, _user, { params }) => (params.provider ? undefined : email),
})
const data = resolve<User, HookContext<UserService>>({
  password: passwordHash({ strategy: 'local' }),
  teamId: resolveObjectId,
})
const query = resolve<UserQuery, HookContext<UserService>>({
  id: async (value, _query, { params }) => (params.provider === undefined ? value : 7),
})
app.service('users').hooks({
  around: {
    all: [resolveExternal(external), resolveResult(result)],
    find: [resolveQuery(query)],
    get: resolveDispatch(external),
    create: [resolveData(data)],
  },
  before: {
    all: [resolveQuery(query)],
    create: [resolveData(data, result)],
    patch: resolveData(data),
  },
})

// With the contexts of Feathers, of which generated applications make theirs
const ofFeathers = resolve<User, GeneratedContext<UserService>>({
  password: async () => undefined,
  fullName: virtual(async (user, { app }) => `${user.email} ${app.get('name')}`),
})
const empty = resolve<User, GeneratedContext<UserService>>({})
const generatedData = resolve<User, GeneratedContext>({
  password: passwordHash({ strategy: 'local' }),
  teamId: async () => null,
})
app.service('users').hooks({
  around: { all: [resolveExternal(ofFeathers), resolveResult(ofFeathers), resolveResult(empty)] },
  before: { all: [schemaHooks.resolveQuery(empty)], create: [resolveData(generatedData)] },
})

// Functions and options in one object, a converter, and fields of ids
resolve<User, HookContext>({
  properties: { password: (value) => value?.trim() },
  converter: async (raw: { mail: string }) => ({ ...({} as User), email: raw.mail }),
})
resolve<User, HookContext>({ password: () => undefined }, { converter: (user: User) => user })
resolve({ properties: { authorId: resolveObjectId, teamId: resolveQueryObjectId } })
expectType<Promise<User>>()(result.resolve({}, {} as HookContext<UserService>))
expectType<readonly (keyof User & string)[]>()(result.virtualNames)
const anyResolver: Resolver<User, HookContext<UserService>> = result
resolveExternal(anyResolver)

// What is inferred is what is there.
resolve<User, HookContext<UserService>>({
  email: (value, user, context) => {
    expectType<string | undefined>()(value)
    expectType<User>()(user)
    expectType<HookContext<UserService>>()(context)
    return value
  },
})

resolve<User, HookContext>({
  // @ts-expect-error a property that the record does not have
  emial: () => 'a',
})
resolve<User, HookContext>({
  // @ts-expect-error a value of another type
  email: () => 7,
})
resolve<User, HookContext>({
  // @ts-expect-error a promise of another type
  email: async () => 7,
})
resolve<User, HookContext>({
  // @ts-expect-error a virtual value of another type
  fullName: virtual(async () => 7),
})
// @ts-expect-error an option that does not exist
resolve<User, HookContext>({}, { convertor: (user: User) => user })
// @ts-expect-error an around hook waits for next, which is not there
app.service('users').hooks({ before: { all: [resolveResult(result)] } })
// @ts-expect-error an around hook waits for next, which is not there
app.service('users').hooks({ after: { find: [resolveExternal(external)] } })
// @ts-expect-error a function is no resolver
resolveData(() => undefined)
// @ts-expect-error the functions without resolve()
resolveResult({ password: () => undefined })

import * as common from 'feathers-hooks-common'
import type { ObjectId } from 'mongodb'
import type { MongoDBService } from '../../src/adapter/index.ts'
import { ObjectIdSchema } from '../../src/adapter/index.ts'
import type { AroundHook, Hook, HookOptions } from '../../src/core/index.ts'
import { createApp } from '../../src/core/index.ts'
import type { Static, ValidationHook, Validator } from '../../src/core/schema/index.ts'
import {
  Ajv,
  addFormats,
  DateSchema,
  getDataValidator,
  getValidator,
  Type,
  validateData,
  validateQuery,
} from '../../src/core/schema/index.ts'
import type { Services, UserService } from './account-services.ts'
import { expectType } from './expect-type.ts'

// Schemas have the types of what they describe.

// Exported: declarations of schemas can be written without naming types that are not.
export const POST = Type.Object({
  _id: ObjectIdSchema(),
  title: Type.String(),
  createdAt: DateSchema(),
  editedAt: Type.Optional(Type.Union([DateSchema(), Type.Null()])),
})
type Post = Static<typeof POST>
declare const post: Post
expectType<ObjectId>()(post._id)
expectType<Date>()(post.createdAt)
expectType<Date | null | undefined>()(post.editedAt)
expectType<Validator<unknown, Post>>()(getValidator(POST))
expectType<Validator<{ a: string }>>()(getValidator<{ a: string }>({ type: 'object' }))
expectType<Validator<unknown, { a: 1 }>>()(getValidator<unknown, { a: 1 }>(true))

// An Ajv of one's own

const ajv = addFormats(new Ajv({ coerceTypes: true }), ['date-time', 'email'])
expectType<Ajv>()(ajv)
const validators = getDataValidator(POST, ajv)
const queryValidator = getValidator(Type.Object({ title: Type.String() }), ajv)
// @ts-expect-error no Ajv
getValidator(POST, { compiles: true })

// Hooks of validation stand in every map of hooks, of a typed service too.

const app = createApp<Services & { posts: MongoDBService<Post> }>()
const schema = {
  parse: (value: unknown) => value,
  '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }) },
} as const
app.service('users').hooks({
  before: {
    all: [validateQuery(POST)],
    find: validateQuery(queryValidator, { skipSanitize: false }),
    get: [validateQuery({ type: 'object' }), validateQuery(async (query: object) => query)],
    create: [validateData(POST), validateData(validators), validateData(validators.create)],
    patch: validateData(validators.patch),
    invite: [validateData({ invite: POST, create: schema }), validateData(schema)],
  },
  around: {
    all: [validateQuery(POST), validateData(validators)],
    create: validateData(POST),
    find: [validateQuery(ajv.compile(POST))],
  },
})
app.service('posts').hooks({
  before: { all: [validateQuery(queryValidator)], create: [validateData(POST)] },
  around: [validateQuery(POST)],
})
app.hooks({ before: { all: [validateQuery(true)] }, around: [validateData(POST)] })
app.service('users').hooks({ create: [validateData(POST)] })

// Inside of hooks of other packages too
app.service('users').hooks({
  before: {
    all: [common.iff(common.isProvider('external'), validateQuery(POST))],
    create: [common.iff(common.isProvider('external'), validateData(POST), validateQuery(POST))],
  },
})

export const single: Hook = validateData(POST)
export const around: AroundHook<UserService, 'create'> = validateData(POST)
export const list: ValidationHook[] = [validateData(POST), validateQuery(POST)]
export const stated: HookOptions<UserService, typeof app> = {
  before: { create: [validateData(POST)], find: [validateQuery(POST)] },
}

// @ts-expect-error no schema
validateData('users')
// @ts-expect-error no schema
validateQuery(undefined)

declare const userService: UserService
// The schemas of a service
const byMethod = { data: POST }
app.use('users', userService, { schemas: { entity: POST, create: POST } })
// @ts-expect-error no such schema
app.use('users', userService, { schemas: { entty: POST, create: POST } })
// @ts-expect-error no such method
app.use('users', userService, { schemas: { create: POST, methods: { grete: byMethod } } })
app.use('users', userService, {
  singleton: true,
  schemas: { create: POST, unknown: 'drop', methods: { find: { query: true, result: POST } } },
})
// @ts-expect-error no such word for unknown fields
app.use('users', userService, { schemas: { create: POST, unknown: 'ignore' } })
// @ts-expect-error the data of a standard method has its own place
app.use('users', userService, { schemas: { create: POST, methods: { create: byMethod } } })

// Ids
const linkSchema = Type.Object({
  to: ObjectIdSchema(),
  from: Type.Optional(Type.Union([ObjectIdSchema(), Type.Null()])),
  others: Type.Array(ObjectIdSchema()),
})
declare const link: Static<typeof linkSchema>
expectType<ObjectId>()(link.to)
expectType<ObjectId | null | undefined>()(link.from)
expectType<ObjectId[]>()(link.others)

// The schemas that generators of Feathers write have the same types here.
import { ObjectIdSchema } from '../../src/adapter/index.ts'
import type { FromSchema, Static } from '../../src/core/schema/index.ts'
import {
  defaultAppConfiguration,
  defaultAppSettings,
  querySyntax,
  StringEnum,
  Type,
} from '../../src/core/schema/index.ts'
import { expectType } from './expect-type.ts'

const userSchema = Type.Object(
  {
    _id: ObjectIdSchema(),
    email: Type.String(),
    role: Type.Optional(StringEnum(['admin', 'guest'])),
  },
  { $id: 'User', additionalProperties: false },
)
const userDataSchema = Type.Omit(userSchema, ['_id'], { $id: 'UserData' })
const userPatchSchema = Type.Partial(userDataSchema, { $id: 'UserPatch' })
const userQuerySchema = Type.Intersect(
  [
    querySyntax(Type.Pick(userSchema, ['email', 'role'])),
    Type.Object({ archived: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
  ],
  { additionalProperties: false },
)
type User = Static<typeof userSchema>
type UserQuery = Static<typeof userQuerySchema>

expectType<string>()({} as User['email'])
expectType<'admin' | 'guest' | undefined>()({} as User['role'])
expectType<{ email: string; role?: 'admin' | 'guest' }>()({} as Static<typeof userDataSchema>)
expectType<{ email?: string; role?: 'admin' | 'guest' }>()({} as Static<typeof userPatchSchema>)
expectType<boolean | undefined>()({} as UserQuery['archived'])
expectType<number | undefined>()({} as UserQuery['$limit'])
const byEmail: UserQuery = { email: { $in: ['a'] }, role: { $ne: 'admin' }, $sort: { email: 1 } }
// @ts-expect-error
const byName: UserQuery = { name: 'a' }

const joinedSchema = Type.Intersect([userSchema, Type.Object({ age: Type.Number() })])
const eitherSchema = Type.Union([userSchema, Type.Object({ name: Type.String() })])
const byKeys = Type.Pick(userSchema, Type.Union([Type.Literal('_id'), Type.Literal('email')]))
const byKeyOf = Type.Omit(userSchema, Type.KeyOf(byKeys))
const joinedPart = Type.Pick(joinedSchema, ['age', 'email'])
const eitherPart = Type.Omit(eitherSchema, ['name', '_id', 'role'])
expectType<string>()({} as Static<typeof byKeys>['email'])
expectType<{ role?: 'admin' | 'guest' }>()({} as Static<typeof byKeyOf>)
expectType<{ age: number; email: string }>()({} as Static<typeof joinedPart>)
const anyPart = (schema: Type.TSchema): Type.TSchema => Type.Omit(schema, ['password'])

const messageSchema = {
  $id: 'Message',
  type: 'object',
  additionalProperties: false,
  required: ['_id', 'text'],
  properties: {
    _id: ObjectIdSchema(),
    text: { type: 'string' },
    level: { type: 'string', enum: ['low', 'high'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
} as const
type Message = FromSchema<typeof messageSchema>

expectType<string>()({} as Message['text'])
expectType<'low' | 'high' | undefined>()({} as Message['level'])
expectType<string[] | undefined>()({} as Message['tags'])
// @ts-expect-error
const withoutText: Message = { _id: 'a' }

const messageQuerySchema = querySyntax(messageSchema, {}, { $id: 'MessageQuery' })
type MessageQuery = FromSchema<typeof messageQuerySchema>
const byText: MessageQuery = { text: { $in: ['a'] }, $sort: { text: 1 }, $limit: 1 }
// @ts-expect-error
const byNumber: MessageQuery = { text: 1 }

const literal: Type.TLiteral<'a'> = Type.Literal('a')

const settings = Type.Intersect([defaultAppConfiguration, Type.Object({ port: Type.Number() })])
type Settings = Static<typeof settings>
expectType<number>()({} as Settings['port'])
expectType<{ default: number; max: number } | undefined>()({} as Settings['paginate'])

const jsonSettings = {
  type: 'object',
  required: ['port'],
  properties: { ...defaultAppSettings, port: { type: 'number' } },
} as const
expectType<number>()({} as FromSchema<typeof jsonSettings>['port'])
expectType<string | undefined>()({} as FromSchema<typeof jsonSettings>['mongodb'])

export { anyPart, byEmail, byName, byNumber, byText, eitherPart, literal, withoutText }

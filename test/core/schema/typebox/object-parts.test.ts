import t from 'tap'

import { getDataValidator, getValidator, Type } from '../../../../src/core/schema/index.ts'

const USER = Type.Object(
  { _id: Type.String(), email: Type.String(), role: Type.Optional(Type.String()) },
  { $id: 'User', additionalProperties: false },
)

const INVALID = { message: 'validation failed' }

const DERIVED = [
  ['Pick', Type.Pick(USER, ['email'], { $id: 'UserData' }), ['email']],
  ['Omit', Type.Omit(USER, ['_id', 'role']), ['email']],
  ['Partial', Type.Partial(USER, { $id: 'UserPatch' }), undefined],
  ['Required', Type.Required(Type.Pick(USER, ['email', 'role'])), ['email', 'role']],
] as const

for (const [name, schema, required] of DERIVED) {
  t.test(`Type.${name} of a closed object is closed`, async (t) => {
    t.match(schema, { type: 'object', additionalProperties: false, required })
    const data = { email: 'a', role: 'b' }
    const isTaken = name !== 'Pick' && name !== 'Omit'
    if (isTaken) t.strictSame(await getValidator(schema)({ ...data }), data)
    await t.rejects(getValidator(schema)({ ...data, isAdmin: true }), INVALID)
  })
}

t.test('keeps the options that are given, has none of the id of the other schema', async (t) => {
  const open = Type.Pick(USER, ['email'], { $id: 'Open', additionalProperties: true })
  t.match(open, { $id: 'Open', additionalProperties: true })
  t.notOk('$id' in Type.Pick(USER, ['email']))
})

t.test('leaves an object open that says nothing', async (t) => {
  const open = Type.Object({ email: Type.String(), role: Type.String() })
  for (const schema of [
    Type.Pick(open, ['email']),
    Type.Omit(open, ['role']),
    Type.Partial(open),
  ]) {
    t.notOk('additionalProperties' in schema)
  }
})

t.test('keeps the schema of further properties', async (t) => {
  const words = Type.Object({ en: Type.String() }, { additionalProperties: Type.String() })
  t.match(Type.Partial(words), { additionalProperties: { type: 'string' } })
})

t.test('closes a part of joined objects of which one is closed', async (t) => {
  const joined = Type.Intersect([USER, Type.Object({ age: Type.Number() })])
  t.match(Type.Pick(joined, ['email', 'age']), { additionalProperties: false })
  const whole = Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({})], {
    unevaluatedProperties: false,
  })
  t.match(Type.Partial(whole), { additionalProperties: false })
})

t.test('closes each alternative of a union by itself', async (t) => {
  const other = Type.Object({ name: Type.String(), age: Type.Number() })
  const either = Type.Partial(Type.Union([USER, other]), { title: 'Either' })
  t.match(either, { title: 'Either', anyOf: [{ additionalProperties: false }, {}] })
  t.notOk('additionalProperties' in either)
  t.notOk('additionalProperties' in (either.anyOf[1] ?? {}))
})

t.test('has validators of create and patch that refuse what a record does not name', async (t) => {
  const { create, patch } = getDataValidator(Type.Omit(USER, ['_id'], { $id: 'UserData' }))
  t.strictSame(await create({ email: 'a' }), { email: 'a' })
  for (const validate of [create, patch]) {
    await t.rejects(validate({ email: 'a', _id: 'mine' }), INVALID)
  }
})

const MISTYPED: readonly [string, () => unknown, string][] = [
  ['Omit', () => Type.Omit(USER, ['emial' as 'email']), "'emial'; did you mean 'email'?"],
  ['Pick', () => Type.Pick(USER, ['xyz' as 'email']), "'xyz', it has _id, email, role"],
  ['Omit', () => Type.Omit(Type.Object({}), Type.Literal('a')), "'a', it has none"],
  [
    'Pick',
    () => Type.Pick(USER, Type.Union([Type.Literal('email'), Type.Literal('rol')])),
    "'rol'; did you mean 'role'?",
  ],
  [
    'Omit',
    () => Type.Omit(USER, Type.KeyOf(Type.Object({ _id: Type.String(), age: Type.Number() }))),
    "'age', it has _id, email, role",
  ],
]

for (const [name, derive, rest] of MISTYPED) {
  t.test(`Type.${name} refuses a name that the object does not have: ${rest}`, async (t) => {
    t.throws(derive, new TypeError(`Type.${name}(): the object has no property ${rest}`))
  })
}

t.test('takes the names of joined objects, of all alternatives and of a schema', async (t) => {
  const joined = Type.Intersect([USER, Type.Object({ age: Type.Number() })])
  t.strictSame(Object.keys(Type.Pick(joined, ['email', 'age']).properties), ['email', 'age'])
  const either = Type.Omit(Type.Union([USER, Type.Object({ name: Type.String() })]), ['name'])
  t.match(either, { anyOf: [USER.properties, {}].map((properties) => ({ properties })) })
  const names = Type.KeyOf(Type.Object({ email: Type.String() }))
  t.strictSame(Object.keys(Type.Pick(USER, names).properties), ['email'])
  const numbered = Type.Object({ 1: Type.String(), 2: Type.String() })
  t.strictSame(Object.keys(Type.Omit(numbered, [1]).properties), ['2'])
})

t.test('takes any name where the object is a reference', async (t) => {
  t.match(Type.Omit(Type.Ref('Later'), ['password']), { action: 'Omit' })
})

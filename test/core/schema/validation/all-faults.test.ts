import t from 'tap'
import type { BadRequest } from '../../../../src/core/index.ts'
import { getValidator, Type, validateData } from '../../../../src/core/schema/index.ts'
import { addSchemaKeyword } from '../../../../src/core/schema-keywords.ts'
import type { JSONSchema } from '../../../../src/core/services/service-schemas.ts'

/** How many values have been looked at since the last test. */
let looks = 0

addSchemaKeyword({
  keyword: 'counted',
  schemaType: 'boolean',
  modifying: true,
  post: true,
  error: { message: 'must be counted' },
  compile: () => () => {
    looks += 1
    return true
  },
})

interface Issue {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}

async function findFaults(schema: JSONSchema, data: unknown): Promise<readonly Issue[]> {
  looks = 0
  try {
    await getValidator(schema)(data)
  } catch (error) {
    return (error as BadRequest).data as Issue[]
  }
  return []
}

function places(issues: readonly Issue[]): string[] {
  return issues.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
}

const Address = Type.Object({ city: Type.String({ minLength: 1 }), zip: Type.String() })
const Person = Type.Object(
  { name: Type.String(), age: Type.Integer({ minimum: 0 }), address: Address },
  { additionalProperties: false },
)

t.test('all faults of data are told at once, at every depth', async (t) => {
  const data = { age: -1, role: 'admin', address: { city: '' } }
  t.strictSame(places(await findFaults(Person, data)), [
    ' required',
    ' additionalProperties',
    '/age minimum',
    '/address required',
    '/address/city minLength',
  ])
  t.strictSame(places(await findFaults(Person, { ...data, age: 1.5 }))[2], '/age type')
})

t.test('so are those of the items of a list, up to 20', async (t) => {
  const context = { type: 'before', method: 'create', params: { provider: 'rest' } }
  const check = async (data: object[]): Promise<readonly Issue[]> => {
    looks = 0
    const hook = validateData(Type.Object({ n: Type.Unsafe({ type: 'string', counted: true }) }))
    const error = await Promise.resolve(hook({ ...context, data } as never)).then(
      () => undefined,
      (error: BadRequest) => error,
    )
    return (error?.data ?? []) as Issue[]
  }
  const found = await check([{ n: 1 }, { n: 'a' }, {}, { n: null }])
  t.strictSame(places(found), ['/0/n type', '/2 required', '/3/n type'])
  const many = Array.from({ length: 5_000 }, (_, index) => ({ n: index < 30 ? index : 'a' }))
  t.equal((await check(many)).length, 20)
  t.ok(looks <= 20, 'the others are not looked at')
})

t.test('data is looked through once more only where it is small', async (t) => {
  const Counted = Type.Unsafe({ type: 'string', minLength: 1, counted: true })
  const List = Type.Object({ items: Type.Array(Counted) })
  await findFaults(List, { items: ['', 'a', 'a'] })
  t.equal(looks, 3)
  for (const length of [1_000, 9_999]) {
    const issues = await findFaults(List, { items: ['', ...Array(length).fill('a')] })
    t.strictSame(places(issues), ['/items/0 minLength'])
    t.equal(looks, 0, 'the first fault ends it')
  }
})

const Slow = Type.Unsafe({ type: 'string', maxLength: 5, counted: true })

/** Data with a fault that a check must not go on behind: the limit is there to keep work small. */
const GUARDED: Readonly<Record<string, readonly [schema: JSONSchema, data: object]>> = {
  maxLength: [Type.Object({ a: Type.Integer(), b: Slow }), { a: 'x', b: 'longer' }],
  'maxLength of a part': [
    Type.Object({
      a: Type.Integer(),
      b: { type: 'string', allOf: [{ type: 'string', maxLength: 5 }, { counted: true }] } as never,
    }),
    { a: 'x', b: 'longer' },
  ],
  maxItems: [
    Type.Object({ a: Type.Integer(), b: Type.Array(Slow, { maxItems: 1, uniqueItems: true }) }),
    { a: 'x', b: ['a', 'b'] },
  ],
  maxProperties: [
    Type.Object({ a: Type.Integer(), b: Type.Record(Type.String(), Slow, { maxProperties: 1 }) }),
    { a: 'x', b: { c: 'a', d: 'b' } },
  ],
  propertyNames: [
    Type.Object({
      a: Type.Integer(),
      b: { type: 'object', propertyNames: { maxLength: 2 }, additionalProperties: Slow } as never,
    }),
    { a: 'x', b: { long: 'a' } },
  ],
}

for (const [limit, [schema, data]] of Object.entries(GUARDED)) {
  t.test(`nothing behind ${limit} is looked at because of another fault`, async (t) => {
    t.strictSame(places(await findFaults(schema, data)), ['/a type'])
    t.equal(looks, 0)
  })
}

t.test('alternatives in alternatives are not looked through without end', async (t) => {
  const kinds = ['not', 'neg', 'plus', 'minus'] as const
  const Term = Type.Cyclic(
    {
      Term: Type.Union([
        Type.Unsafe({ type: 'string', counted: true }),
        ...kinds.map((kind) => Type.Object({ kind: Type.Literal(kind), of: Type.Ref('Term') })),
      ]),
    },
    'Term',
  )
  const nest = (depth: number, inner: unknown): unknown =>
    depth === 0 ? inner : { kind: 'neg', of: nest(depth - 1, inner) }
  const schema = Type.Object({ term: Term })
  await findFaults(schema, { term: nest(3, 5) })
  for (const depth of [20, 60]) {
    const issues = await findFaults(schema, { term: nest(depth, 5) })
    t.ok(issues.length > 0 && issues.length <= 20)
    t.ok(looks < 20_000, `${looks} at depth ${depth}`)
  }
})

t.test('many values with many alternatives are not looked through', async (t) => {
  const anyOf = Array.from({ length: 250 }, (_, index) => ({
    ...{ type: 'string', const: `v${index}`, counted: true },
  }))
  const schema = Type.Object({ a: Type.Array(Type.Unsafe({ anyOf })), b: Type.Integer() })
  await findFaults(schema, { a: ['x'], b: 'x' })
  t.equal(looks, 250)
  t.equal((await findFaults(schema, { a: Array(490).fill('x'), b: 1 })).length, 20)
  t.equal(looks, 0)
})

t.test('a long name is not repeated by each fault inside of it', async (t) => {
  const schema = Type.Record(Type.String(), Type.Object({ a: Type.Integer(), b: Type.Integer() }))
  const inner = { a: 'x', b: 'x' }
  t.equal((await findFaults(schema, { ['n'.repeat(256)]: inner })).length, 2)
  t.equal((await findFaults(schema, { ['n'.repeat(257)]: inner })).length, 1)
})

t.test('a string that has been converted already is no fault', async (t) => {
  const At = Type.Unsafe({ type: 'string', format: 'date-time', date: true })
  const schema = Type.Object({ at: At, bytes: Type.Optional(Type.Any()), n: Type.Integer() })
  const bytes = Object.assign(Buffer.from('a'), { toJSON: () => t.fail('a large list') })
  const data = { at: '2026-01-31T12:00:00Z', bytes, n: 'x' }
  t.strictSame(places(await findFaults(schema, data)), ['/n type'])
})

t.test('faults of a frozen object are told too', async (t) => {
  const data = Object.freeze({ age: -1, name: 'a', address: Object.freeze({ city: '', zip: 1 }) })
  const expected = ['/age minimum', '/address/city minLength', '/address/zip type']
  t.strictSame(places(await findFaults(Person, data)), expected)
})

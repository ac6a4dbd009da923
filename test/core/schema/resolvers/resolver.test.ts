import t from 'tap'
import type { ResolverConfig, ResolverOptions } from '../../../../src/core/schema/index.ts'
import { Resolver, resolve, virtual } from '../../../../src/core/schema/index.ts'

type Fields = Record<string, unknown>

const resolveFields = (properties: object, options: ResolverOptions<Fields, unknown> = {}) =>
  resolve<Fields, unknown>(properties as ResolverConfig<Fields, unknown>, options)

t.test('makes no promise where no function returns one', async (t) => {
  const resolver = resolveFields({ n: (n: number) => n + 1, all: virtual(() => 'x') })
  t.strictSame(resolver.start({ n: 1, m: 2 }, {}), { n: 2, m: 2, all: 'x' })
  t.ok(resolver.resolve({ n: 1 }, {}) instanceof Promise)
  t.ok(resolveFields({ n: async () => 1 }).start({}, {}) instanceof Promise)
})

t.test('all functions get the record as it was given', async (t) => {
  const seen: unknown[] = []
  const note = (value: unknown, record: object) => {
    seen.push(value, { ...record })
    return 'new'
  }
  const record = Object.freeze({ a: 1, b: 2 })
  t.strictSame(resolveFields({ a: note, b: note }).start(record, {}), { a: 'new', b: 'new' })
  t.strictSame(seen, [1, record, 2, record])
})

t.test('what is undefined is left out, and what is null stays', async (t) => {
  const resolver = resolveFields({ a: () => undefined, b: async () => undefined, c: () => null })
  t.strictSame(await resolver.resolve({ a: 1, b: 2, d: undefined, e: null }, {}), {
    e: null,
    c: null,
  })
})

t.test('what is no record stays as it is', async (t) => {
  const resolver = resolveFields({ a: virtual(() => 1) })
  const date = new Date(0)
  for (const value of [null, undefined, 7, 'text', date]) t.equal(resolver.start(value, {}), value)
})

t.test('the names of the record come first, whichever promise is fulfilled first', async (t) => {
  const order: string[] = []
  const a = async () => {
    await null
    return order.push('a')
  }
  const resolver = resolveFields({ last: () => 'l', b: async () => order.push('b'), a })
  t.strictSame(Object.keys(await resolver.resolve({ a: 1, b: 2 }, {})), ['a', 'b', 'last'])
  t.strictSame(order, ['b', 'a'])
})

t.test('a name that would set the prototype is a field', async (t) => {
  const record = JSON.parse('{"__proto__":{"admin":true},"a":1}') as object
  const resolved = resolveFields({ a: () => 2 }).start(record, {}) as Fields
  t.equal(resolved['admin'], undefined)
  t.ok(Object.hasOwn(resolved, '__proto__'))
})

t.test('a function that is running is not run again', async (t) => {
  const runs: string[][] = []
  const user = resolveFields({
    friend: (_value: unknown, _user: unknown, context: unknown, status: { path: string[] }) => {
      runs.push(status.path)
      return user.start({ name: 'Bob' }, context, status)
    },
  })
  t.strictSame(user.start({ name: 'Ann' }, {}), { name: 'Ann', friend: { name: 'Bob' } })
  t.strictSame(runs, [['friend']])
})

t.test('a selection is what is resolved', async (t) => {
  const resolver = resolveFields({ a: () => 1, b: () => t.fail('is not selected') })
  t.strictSame(resolver.start({ c: 3, d: 4 }, {}, { properties: ['c', 'a', 'x'] }), { c: 3, a: 1 })
})

t.test('all functions run before an error is thrown, and it has all failures', async (t) => {
  const ran: string[] = []
  const failure = new TypeError('secret')
  const resolver = resolveFields({
    a: () => {
      throw failure
    },
    b: async () => {
      ran.push('b')
      throw new Error('no b')
    },
    c: async () => void ran.push('c'),
  })
  const logged: object[] = []
  const context = { app: { logger: { error: (details: object) => void logged.push(details) } } }
  const error = (await resolver.resolve({}, context).catch((thrown) => thrown)) as Error
  t.match(error, {
    name: 'BadRequest',
    message: 'Error resolving data',
    data: { a: { message: 'Internal error' }, b: { message: 'no b' } },
  })
  t.strictSame(ran, ['b', 'c'])
  t.equal((error.cause as AggregateError).errors[0], failure)
  t.strictSame(logged, [{ err: error }], 'a status below 500 would not be logged')
})

t.test('schemas check a record before the functions run, or after', async (t) => {
  const schema = {
    validate: async (record: Fields) => ({ ...record, checked: Object.keys(record) }),
  }
  const add = { b: () => 2 }
  const check = (validate: 'before' | 'after' | false) =>
    resolveFields({ properties: add, schema, validate }).resolve({ a: 1 }, {})
  t.strictSame(await check('before'), { a: 1, checked: ['a'], b: 2 })
  t.strictSame(await check('after'), { a: 1, b: 2, checked: ['a', 'b'] })
  t.strictSame(await check(false), { a: 1, b: 2 })
})

t.test('a converter gets the status, and functions what it returns', async (t) => {
  const seen: unknown[] = []
  const converter = (record: Fields, _context: unknown, status: object): Fields => {
    seen.push(status)
    return { a: record['raw'] }
  }
  const resolver = resolveFields({ a: (a: number) => a + 1 }, { converter })
  t.strictSame(resolver.start({ raw: 1 }, {}, { path: ['x'] }), { a: 2 })
  t.strictSame(seen, [{ path: ['x'], stack: [] }])
  t.strictSame(resolveFields({}, { converter }).start({ raw: 1 }, {}), { a: 1 })
})

t.test('a record may have a property called properties', async (t) => {
  t.strictSame(resolveFields({ properties: () => 7 }).start({}, {}), { properties: 7 })
})

t.test('what is no function or option is refused by its name', async (t) => {
  t.throws(() => resolveFields({ email: 'a' }), /the property 'email' must be a function/)
  t.throws(() => resolveFields({ a: undefined, b: null }), /the property 'b' must be a function/)
  t.throws(
    () => resolveFields({}, { convertor: () => ({}) } as never),
    /resolve\(\): unknown option 'convertor'; did you mean 'converter'\?/,
  )
  t.throws(() => resolveFields({ properties: {}, validate: true }), /'validate' must be 'before'/)
  t.throws(() => resolveFields({ properties: {}, schema: {} }), /'schema' must be an object with/)
  t.throws(
    () => resolveFields({ properties: {}, validate: 'before' }),
    /'validate' needs the option 'schema' to check with/,
  )
  t.throws(() => resolve(undefined as never), /takes an object of functions/)
  t.throws(() => virtual(7 as never), /virtual\(\) takes a function/)
})

t.test('the class checks its options as resolve() does', async (t) => {
  const schema = { validate: (record: unknown) => record }
  const make = (options: object) => () => new Resolver({ properties: {}, ...options })
  t.throws(make({ schema, validate: true }), /'validate' must be 'before'/)
  t.throws(make({ convertr: () => ({}) }), /unknown option 'convertr'; did you mean 'converter'/)
})

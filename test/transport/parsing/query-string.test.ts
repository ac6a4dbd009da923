import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parse } from 'qs'
import t from 'tap'

import type { Params } from '../../../src/transport/index.ts'
import { rest } from '../../../src/transport/index.ts'
import type { QueryOptions } from '../../../src/transport/parsing/query-string.ts'
import { createQueryParser, toRawQuery } from '../../../src/transport/parsing/query-string.ts'
import { injectServer } from '../../support/http.ts'

const parseQuery = createQueryParser()

/** Behaviour of `qs`: what a raw query becomes. */
const QUERIES: readonly [raw: string, query: Record<string, unknown>][] = [
  ['', {}],
  ['a[]=1&a[]=2', { a: ['1', '2'] }],
  ['a[0]=1&a[1]=2', { a: ['1', '2'] }],
  ['a=1&a=2', { a: ['1', '2'] }],
  ['a=1&a[]=2', { a: ['1', '2'] }],
  ['b[c][d]=e', { b: { c: { d: 'e' } } }],
  ['b%5Bc%5D%5Bd%5d=e', { b: { c: { d: 'e' } } }],
  ['$sort[n]=-1', { $sort: { n: '-1' } }],
  ['$or[0][a]=1&$or[1][b][$lt]=2', { $or: [{ a: '1' }, { b: { $lt: '2' } }] }],
  ['x=&y', { x: '', y: '' }],
  ['n=null&b=true&i=1', { n: 'null', b: 'true', i: '1' }],
  ['a.b=1', { 'a.b': '1' }],
  ['a=1,2', { a: '1,2' }],
  ['a[15]=x', { a: ['x'] }],
  ['a=x+y&b=x%20y&c=%2B', { a: 'x y', b: 'x y', c: '+' }],
  ['caf%C3%A9=%E2%98%83', { café: '☃' }],
  ['a=%ZZ&b=100%', { a: '%ZZ', b: '100%' }],
  ['&&a=1&&', { a: '1' }],
  ['a=%uD800', { a: '%uD800' }],
  ['a[b]=1&a[b]=2&a[c]=', { a: { b: ['1', '2'], c: '' } }],
  ['a[0]=x&a[b]=y', { a: { 0: 'x', b: 'y' } }],
  ['a[b]=1&a=2', { a: [{ b: '1' }, '2'] }],
  ['a[b]=1&a=toString', { a: [{ b: '1' }, 'toString'] }],
  ['a[b=1&[c]=2&&[]=3', { a: { '[b': '1' }, c: '2', 0: '3' }],
  ['a[b]=x]y&c=]z&d=[e].f', { a: { b: 'x]y' }, c: ']z', d: '[e].f' }],
  ['a=b=c', { a: 'b=c' }],
  ['a=b]=c', { 'a=b]': 'c' }],
  ['a=1&A=2', { a: '1', A: '2' }],
]

for (const [raw, query] of QUERIES) {
  t.test(`reads '${raw}' as ${JSON.stringify(query)}`, async (t) => {
    t.strictSame(parseQuery(raw), query)
    t.strictSame(parse(raw), query, 'as qs does')
  })
}

/** Empty lists, which qs has no form for, and what looks like one. */
const EMPTY_LISTS: readonly [raw: string, query: Record<string, unknown>][] = [
  ['id[$in][$empty]=', { id: { $in: [] } }],
  ['id%5B%24in%5D%5B%24empty%5D=', { id: { $in: [] } }],
  ['id[$in][%24%65mpty]', { id: { $in: [] } }],
  ['tags[$empty]=&$select[$empty]=', { tags: [], $select: [] }],
  ['$or[0][a][$nin][$empty]=&$or[1][b]=1', { $or: [{ a: { $nin: [] } }, { b: '1' }] }],
  ['a[0][]=1&a[1][$empty]=', { a: [['1'], []] }],
  // As before: a list with an empty string, whether or not an equals sign follows.
  ['tags[]&x[$in][]=', { tags: [''], x: { $in: [''] } }],
  // Anything else keeps the name, which services refuse as they refuse other operators.
  ['$empty=', { $empty: '' }],
  ['a[$empty]=1', { a: { $empty: '1' } }],
  ['a[$empty]=&a[$empty]=', { a: { $empty: ['', ''] } }],
  ['a[$empty]=&a[$gt]=1', { a: { $empty: '', $gt: '1' } }],
  ['a[$empty]=&a[]=1', { a: { $empty: '', 0: '1' } }],
  ['a[0]=1&a[$empty]=', { a: { 0: '1', $empty: '' } }],
  ['a[$empty][b]=', { a: { $empty: { b: '' } } }],
  ['a[$empty][$empty]=', { a: { $empty: [] } }],
]

for (const [raw, query] of EMPTY_LISTS) {
  t.test(`reads '${raw}' as ${JSON.stringify(query)}`, async (t) => {
    t.strictSame(parseQuery(raw), query)
    const inBody = createQueryParser({}, 'body')(raw)
    t.strictSame(inBody, parse(raw), 'as qs does, in a body')
  })
}

t.test('an empty list counts as a level, like an item of a list', async (t) => {
  const parseFlat = createQueryParser({ depth: 2 })
  t.strictSame(parseFlat('a[$in][$empty]='), { a: { $in: [] } })
  t.throws(() => parseFlat('a[b][$in][$empty]='), /nested deeper than 2 levels/)
})

/** Queries of which qs leaves something out, the parameter that is named, and why. */
const LOST: readonly [raw: string, name: string, reason: RegExp][] = [
  ['__proto__=1', '__proto__', /every object has a '__proto__'/],
  ['__proto__[x]=1', '__proto__[x]', /every object has a '__proto__'/],
  ['a[__proto__][x]=1', 'a[__proto__][x]', /every object has a '__proto__'/],
  ['b[c][__proto__]=1', 'b[c][__proto__]', /every object has a '__proto__'/],
  ['%5B__proto__%5D=1', '[__proto__]', /every object has a '__proto__'/],
  ['a[%5F_proto__]=1', 'a[__proto__]', /every object has a '__proto__'/],
  ['a[constructor][$where]=1', 'a[constructor][$where]', /every object has a 'constructor'/],
  ['constructor[prototype][x]=1', 'constructor[prototype][x]', /has a 'constructor'/],
  ['constructor=1', 'constructor', /every object has a 'constructor'/],
  ['toString=2', 'toString', /every object has a 'toString'/],
  ['%74oString', 'toString', /every object has a 'toString'/],
  ['toString[]=1', 'toString[]', /every object has a 'toString'/],
  ['a[hasOwnProperty]=1', 'a[hasOwnProperty]', /every object has a 'hasOwnProperty'/],
  ['$or[0][valueOf]=1', '$or[0][valueOf]', /every object has a 'valueOf'/],
  ['=1', '', /has no name/],
  ['=', '', /has no name/],
  ['a[b]=1&=2', '', /has no name/],
  ['a[x]=1&a=', 'a', /contradicts another one/],
  ['%61[x]=1&a[y]=2&c[d]=3&a', 'a', /contradicts another one/],
  ['$or[0].age=5', '$or[0].age', /text after a bracket/],
  ['a[b]c[d]=1', 'a[b]c[d]', /text after a bracket/],
  ['a[b]]=1', 'a[b]]', /text after a bracket/],
  ['a%5Bb%5D%2Ec=1', 'a[b].c', /text after a bracket/],
  ['$or[][a]=1&$or[][b]=2', '$or[][a]', /where an item ends; write '\$or\[0\]\[a\]'/],
  ['%24or%5B%5D%5Ba%5D=1&$or[][a]=2', '$or[][a]', /where an item ends/],
  ['$or[0][a]=1&$or[][b]=2', '$or[][b]', /where an item ends/],
  ['$or[][b]=2&$or[]=1', '$or[][b]', /where an item ends/],
  ['$and[0][$or][][x]=1&$and[0][$or][][y]=2', '$and[0][$or][][x]', /where an item ends/],
  ['$nor[][a][$gt]=1&$nor[][b]=2', '$nor[][a][$gt]', /where an item ends/],
  ['name=M%FCller', 'name', /is not valid UTF-8/],
  ['%FF[$ne]=1', '%FF[$ne]', /is not valid UTF-8/],
  ['a=1%E0%A4%A', 'a', /is not valid UTF-8/],
  ['a=%ED%A0%80', 'a', /is not valid UTF-8/],
  [`toString[${'x'.repeat(100)}]=1`, `toString[${'x'.repeat(41)}…`, /every object/],
  [`a[toString]${'%F0%9F%98%80'.repeat(20)}=1`, `a[toString]${'😀'.repeat(19)}\ufffd…`, /after/],
]

for (const [raw, name, reason] of LOST) {
  t.test(`refuses '${raw.slice(0, 40)}' and names the parameter (QS-6)`, async (t) => {
    for (const query of [raw, `b=1&${raw}`, `${raw}&b[c]=1`]) {
      for (const noun of ['query', 'body'] as const) {
        const parse = createQueryParser({}, noun)
        t.throws(() => parse(query), { name: 'BadRequest', message: reason }, query)
        t.throws(() => parse(query), { message: `The ${noun} parameter '${name}` }, query)
      }
    }
    t.equal(({} as { x?: unknown }).x, undefined)
  })
}

/** Returns the parsed query, `null` where it is refused. */
function parseOrRefuse(raw: string): Record<string, unknown> | null {
  try {
    return parseQuery(raw)
  } catch (error) {
    if ((error as { code?: unknown }).code === 400) return null
    throw error
  }
}

/** The values of all parameters, read without any parser of queries. */
function toValues(raw: string): string[] {
  const parameters = raw.replace(/%5b/gi, '[').replace(/%5d/gi, ']').split('&')
  return parameters
    .filter((parameter) => parameter !== '')
    .map((parameter) => {
      const bracket = parameter.indexOf(']=')
      const equals = bracket === -1 ? parameter.indexOf('=') : bracket + 1
      const value = equals === -1 ? '' : parameter.slice(equals + 1).replaceAll('+', ' ')
      try {
        return decodeURIComponent(value)
      } catch {
        return value
      }
    })
    .sort()
}

function toLeaves(value: unknown): string[] {
  return typeof value === 'string' ? [value] : Object.values(value as object).flatMap(toLeaves)
}

t.test('of 5,000 queries each parameter is passed on, or 400 is answered (QS-6)', async (t) => {
  const name = fc.constantFrom(
    'a',
    'b',
    '0',
    '1',
    '25',
    '',
    'x.y',
    'toString',
    '__proto__',
    '[',
    'é',
  )
  const bracket = fc.oneof(
    { weight: 8, arbitrary: name.map((text) => `[${text}]`) },
    { weight: 1, arbitrary: fc.constantFrom(']', '[', '%5B', '%5D', '.c', '%2Ec', '[]') },
  )
  const value = fc.constantFrom('', '=', '=1', '=2', '=a', '=toString', '=%ZZ', '=%5Dx', '=]=')
  const parameter = fc
    .tuple(fc.oneof(fc.constant('a'), name), fc.array(bracket, { maxLength: 4 }), value)
    .map(([root, brackets, text]) => `${root}${brackets.join('')}${text}`)
  const rawQuery = fc.array(parameter, { maxLength: 8 }).map((all) => all.join('&'))
  let accepted = 0
  const property = fc.property(rawQuery, (raw) => {
    const query = parseOrRefuse(raw)
    if (query === null) return true
    accepted += 1
    return isDeepStrictEqual(toLeaves(query).sort(), toValues(raw))
  })
  fc.assert(property, { numRuns: 5_000, seed: 4 })
  t.ok(accepted > 500, `${accepted} queries were accepted`)
})

t.test('reads 2,000 queries without brackets as qs does', async () => {
  const part = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => encodeURIComponent(text)),
    fc.constantFrom(
      'a',
      'b',
      'toString',
      '__proto__',
      '%',
      '%C3%A9',
      '+',
      '%2B',
      ']',
      '%5D',
      '=]=',
    ),
  )
  const parameter = fc.oneof(
    part,
    fc.tuple(part, part).map(([name, value]) => `${name}=${value}`),
  )
  const rawQuery = fc
    .array(parameter, { maxLength: 30 })
    .map((parameters) => parameters.join('&'))
    .filter((raw) => !/\[|%5b/i.test(raw))
  fc.assert(
    fc.property(rawQuery, (raw) => {
      const query = parseOrRefuse(raw)
      const isLossless = toLeaves(parse(raw)).length === toValues(raw).length
      return isLossless ? isDeepStrictEqual(query, parse(raw)) : query === null
    }),
    { numRuns: 2_000, seed: 4 },
  )
})

/** One query for each limit and notation, one beyond it; the answer names the limit. */
const EXCESSES: readonly [title: string, raw: string, limit: RegExp][] = [
  ['11 levels of brackets', `a${'[b]'.repeat(11)}=1`, /deeper than 10 levels/],
  ['12 brackets with text after them', '$and[0]'.repeat(12), /deeper than 10 levels/],
  ['4,000 empty brackets', `a${'[]'.repeat(4_000)}=1`, /deeper than 10 levels/],
  ['1,001 parameters', 'a&'.repeat(1_000), /more than 1000 parameters/],
  ['1,001 parameters with brackets', 'a[]&'.repeat(1_000), /more than 1000 parameters/],
  ['12,289 bytes', 'a'.repeat(12_289), /longer than 12288 bytes/],
]

for (const [title, raw, limit] of EXCESSES) {
  t.test(`a query with ${title} is a BadRequest that names the limit (QS-1)`, async (t) => {
    t.throws(() => parseQuery(raw), { name: 'BadRequest', code: 400, message: limit })
  })
}

t.test('a query at each limit is read', async (t) => {
  t.same(
    parseQuery(`a${'[b]'.repeat(10)}=1`)['a'],
    parse(`a${'[b]'.repeat(10)}=1`, { depth: 10 })['a'],
  )
  t.equal(Object.keys(parseQuery('a&'.repeat(999).concat('b'))).length, 2)
  t.strictSame(parseQuery('a'.repeat(12_288)), { ['a'.repeat(12_288)]: '' })
})

t.test('each limit is an option', async (t) => {
  const parseShort = createQueryParser({ maxLength: 10, parameterLimit: 2, depth: 1 })
  t.throws(() => parseShort('a=123456789'), { code: 400, message: /10 bytes/ })
  t.throws(() => parseShort('a&b&c'), { code: 400, message: /2 parameters/ })
  t.throws(() => parseShort('a[b][c]=1'), { code: 400, message: /1 level/ })
  t.strictSame(createQueryParser({ depth: 12 })(`a${'[b]'.repeat(12)}=1`)['a'] === undefined, false)
})

/** The notations that a list may have. */
const NOTATIONS: Readonly<Record<string, (length: number) => string>> = {
  'indexes in brackets': (length) => join(length, (index) => `a[${index}]=${index}`),
  'encoded brackets': (length) => join(length, (index) => `a%5B${index}%5D=${index}`),
  'empty brackets': (length) => join(length, (index) => `a[]=${index}`),
  'repeated names': (length) => join(length, (index) => `a=${index}`),
}

function join(length: number, toParameter: (index: number) => string): string {
  return Array.from({ length }, (_, index) => toParameter(index)).join('&')
}

for (const [title, write] of Object.entries(NOTATIONS)) {
  t.test(`a list of 20 in ${title} is an array, one of 21 an object by index`, async (t) => {
    const values = Array.from({ length: 21 }, (_, index) => String(index))
    t.strictSame(parseQuery(write(20))['a'], values.slice(0, 20))
    const long = parseQuery(write(21))['a']
    t.equal(Array.isArray(long), false)
    t.strictSame(long, { ...values })
  })

  t.test(`arrayLimit raises the longest array in ${title}`, async (t) => {
    const parseLong = createQueryParser({ arrayLimit: 200 })
    t.equal((parseLong(write(200))['a'] as unknown[]).length, 200)
    t.equal(Array.isArray(parseLong(write(201))['a']), false)
  })
}

t.test('a small arrayLimit counts for repeated names as well', async (t) => {
  for (const arrayLimit of [0, 1, 2]) {
    for (const raw of ['a=1', 'a=1&a=2', 'a=1&a=2&a=3']) {
      t.strictSame(createQueryParser({ arrayLimit })(raw), parse(raw, { arrayLimit }), raw)
    }
  }
})

t.test('a name of 10^6 brackets is read in one go, also to name what is lost (QS-4)', async (t) => {
  const parse = createQueryParser({ maxLength: 2_000_000 }, 'body')
  const cases: [string, RegExp][] = [
    ['[', /nested deeper than 10 levels/],
    [']', /'a' contradicts another one/],
  ]
  for (const [bracket, message] of cases) {
    t.throws(() => parse(`${bracket.repeat(1_000_000)}&a[x]=1&a=`), { message })
  }
})

t.test('a huge index is a key, not the length of an array (QS-4)', async (t) => {
  t.strictSame(parseQuery('a[999999999]=1'), { a: { 999999999: '1' } })
  t.throws(() => parseQuery('['.repeat(12_000)), { message: /nested deeper than 10 levels/ })
})

t.test('the raw query is what stands between the first ? and #', async (t) => {
  t.equal(toRawQuery('/a?b=c?d#e?f'), 'b=c?d')
  t.equal(toRawQuery('/a'), '')
})

const ECHO = { find: async ({ query }: Params) => ({ query }) }

t.test('limits answer 400 on every verb and path, late services included (QS-1)', async (t) => {
  const server = await injectServer(t, {
    services: (app) => app.use('echo', { ...ECHO, create: async () => ({}) }),
  })
  for (const [title, raw, limit] of EXCESSES) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const { status, body } = await server.request(`/echo?${raw}`, { method })
      t.equal(status, 400, title)
      if (method !== 'HEAD') t.match(body, { name: 'BadRequest', message: limit })
    }
    t.equal((await server.request(`/nothing?${raw}`)).status, 404)
    t.equal((await server.request(`/echo?${raw}`, { method: 'OPTIONS' })).status, 204)
  }
  server.app.use('late', ECHO)
  t.equal((await server.request(`/late?${EXCESSES[0]?.[1]}`)).status, 400)
})

t.test('1,000 queries of bracket soup give no 5xx (QS-2)', async (t) => {
  const server = await injectServer(t, { services: (app) => app.use('echo', ECHO) })
  const bit = fc.constantFrom(
    ...['[', ']', '%5B', '%5D', '=', '&', '$', '__proto__', 'constructor', '%00', '%ED%A0%80'],
    ...['a', '0', '[]', '[0]', '$in', '.', '+', '%', '?', 'toString', 'length'],
  )
  const soup = fc.array(bit, { maxLength: 40 }).map((bits) => bits.join(''))
  const property = fc.asyncProperty(soup, async (raw) => {
    const { status } = await server.request(`/echo?${raw}`)
    if (status >= 500) throw new Error(`'${raw}' answered ${status}`)
  })
  await fc.assert(property, { numRuns: 1_000, seed: 4 })
})

t.test('options of rest() reach the parser', async (t) => {
  const server = await injectServer(t, {
    query: { depth: 2, arrayLimit: 30 },
    services: (app) => app.use('echo', ECHO),
  })
  t.equal((await server.request('/echo?a[b][c][d]=1')).status, 400)
  const { body } = await server.request(`/echo?${NOTATIONS['empty brackets']?.(30)}`)
  t.equal((body as { query: { a: unknown[] } }).query.a.length, 30)
})

t.test("a parser of one's own takes the place of it, answers 400 where it throws", async (t) => {
  const server = await injectServer(t, {
    services: (app) => app.use('echo', ECHO),
    query: (raw) => {
      if (raw === 'throw') throw new TypeError('not for clients')
      return raw === 'null' ? (null as unknown as Record<string, unknown>) : { raw }
    },
  })
  t.strictSame((await server.request('/echo?a=1')).body, { query: { raw: 'a=1' } })
  for (const raw of ['throw', 'null']) {
    const { status, body } = await server.request(`/echo?${raw}`)
    t.strictSame(
      [status, body],
      [
        400,
        {
          ...{ name: 'BadRequest', message: 'The query cannot be parsed' },
          ...{ code: 400, className: 'bad-request' },
        },
      ],
    )
  }
})

t.test('a limit that is undefined is the default', async (t) => {
  const limits = { maxLength: undefined, parameterLimit: undefined, depth: undefined }
  const parse = createQueryParser(limits as unknown as QueryOptions)
  t.throws(() => parse('x'.repeat(13_000)), /longer than 12288 bytes/)
  t.throws(() => parse('a&'.repeat(3_000)), /more than 1000 parameters/)
  t.throws(() => parse(`a${'[b]'.repeat(11)}=1`), /deeper than 10 levels/)
  t.throws(() => rest({ query: { maxLength: Number.NaN } }), { name: 'TypeError' })
})

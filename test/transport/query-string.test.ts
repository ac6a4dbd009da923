import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { parse } from 'qs'
import t from 'tap'

import type { Params } from '../../src/transport/index.ts'
import type { QueryOptions } from '../../src/transport/query-string.ts'
import { createQueryParser, toRawQuery } from '../../src/transport/query-string.ts'
import { injectServer } from '../support/http.ts'

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
  ['a=%ZZ&b=%E0%A4%A', { a: '%ZZ', b: '%E0%A4%A' }],
  ['&&a=1&&', { a: '1' }],
  ['=1&a=2', { a: '2' }],
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

for (const raw of [
  ...['__proto__=1', '__proto__[x]=1', 'a[__proto__][x]=1', 'a[constructor][prototype][x]=1'],
  ...['constructor[prototype][x]=1', 'constructor=1', 'hasOwnProperty=1', 'toString=z'],
]) {
  t.test(`QS-6: drops what every object has from '${raw}'`, async (t) => {
    const query = parseQuery(`${raw}&b=1`)
    t.equal(query['b'], '1')
    t.strictSame(
      Object.keys(query).filter((key) => key !== 'a' && key !== 'b'),
      [],
    )
    t.strictSame(Object.keys((query['a'] as object | undefined) ?? {}), [])
    t.equal(typeof query.hasOwnProperty, 'function')
    t.equal(Object.getPrototypeOf(query), Object.prototype)
    t.equal((query as { x?: unknown }).x, undefined)
  })
}

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
      '%C3%28',
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
    fc.property(rawQuery, (raw) => isDeepStrictEqual(parseQuery(raw), parse(raw))),
    { numRuns: 2_000, seed: 4 },
  )
})

/** One query for each limit and notation, one beyond it; the answer names the limit. */
const EXCESSES: readonly [title: string, raw: string, limit: RegExp][] = [
  ['11 levels of brackets', `a${'[b]'.repeat(11)}=1`, /deeper than 10 levels/],
  ['1,001 parameters', 'a&'.repeat(1_000), /more than 1000 parameters/],
  ['1,001 parameters with brackets', 'a[]&'.repeat(1_000), /more than 1000 parameters/],
  ['12,289 bytes', 'a'.repeat(12_289), /longer than 12288 bytes/],
]

for (const [title, raw, limit] of EXCESSES) {
  t.test(`QS-1: a query with ${title} is a BadRequest that names the limit`, async (t) => {
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

t.test('QS-4: a huge index is a key, not the length of an array', async (t) => {
  t.strictSame(parseQuery('a[999999999]=1'), { a: { 999999999: '1' } })
  t.strictSame(parseQuery('['.repeat(12_000)), { ['['.repeat(12_000)]: '' })
})

t.test('the raw query is what stands between the first ? and #', async (t) => {
  t.equal(toRawQuery('/a?b=c?d#e?f'), 'b=c?d')
  t.equal(toRawQuery('/a'), '')
})

const ECHO = { find: async ({ query }: Params) => ({ query }) }

t.test('QS-1: limits answer 400 on every verb and path, late services included', async (t) => {
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

t.test('QS-2: 1,000 queries of bracket soup give no 5xx', async (t) => {
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

t.test(
  "a parser of one's own takes the place of it, and answers 400 where it throws",
  async (t) => {
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
            ...{ name: 'BadRequest', message: 'The query can not be parsed' },
            ...{ code: 400, className: 'bad-request' },
          },
        ],
      )
    }
  },
)

t.test('a limit that is undefined is the default', async (t) => {
  const limits = { maxLength: undefined, parameterLimit: undefined, depth: undefined }
  const parse = createQueryParser(limits as unknown as QueryOptions)
  t.throws(() => parse('x'.repeat(13_000)), /longer than 12288 bytes/)
  t.throws(() => parse('a&'.repeat(3_000)), /more than 1000 parameters/)
  t.throws(() => parse(`a${'[b]'.repeat(11)}=1`), /deeper than 10 levels/)
  t.throws(() => createQueryParser({ maxLength: Number.NaN }), TypeError)
})

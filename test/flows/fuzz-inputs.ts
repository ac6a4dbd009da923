import fc from 'fast-check'
import { stringify } from 'qs'

/** Operators that one of the services allows beside those that all allow. */
export const OPEN_OPERATORS = [
  '$regex',
  '$options',
  '$exists',
  '$all',
  '$size',
  '$not',
  '$nor',
  '$type',
]

const NASTY = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '_bsontype', 'length'],
  ...['$where', '$or', '$and', '$in', '$ne', '$gt', '$regex', '$set', '$limit', '$skip', '$sort'],
  ...['$select', '\uFF04where', '%24where', 'a.b', 'a..b', '.', '..', '_id', 'id', 'null', 'NaN'],
  ...['\u0000', 'a\u0000b', '\uD800', '\uDFFF', '\uFEFF', '💥', '\r\n', ' ', '', '-1', '1e999'],
  ...['0x10', '99999999999999999999', '507f1f77bcf86cd799439011', '(a+)+$', '[', ']', '][', '%'],
  ...['%00', '%ff', '%c0%80', '%2f..%2f', '&', '=', '#', '?', ';', "'", '"', '<script>', '{', '}'],
]
export const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...NASTY) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 8 }) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 2 }).map((s) => s.repeat(2_000)) },
)
/** URLs hold no lone surrogates; bodies do. */
const encoded = word.map((text) => encodeURIComponent(Buffer.from(text).toString()))
export const soup = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '[',
        ']',
        '%5B',
        '%5d',
        '&',
        '=',
        '[]',
        '[0]',
        '$',
        '%00',
        '+',
        '.',
        '%',
        ',',
      ),
      encoded,
    ),
    { minLength: 1, maxLength: 40 },
  )
  .map((parts) => parts.join(''))
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(word, fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(word, tie('value'), { maxKeys: 4 }),
  ),
})).value
/** A query that means something, or nearly does. */
export const deepQuery = fc
  .dictionary(
    fc.constantFrom(
      'a',
      'b.c',
      '_id',
      '$or',
      '$and',
      '$nor',
      '$limit',
      '$skip',
      '$sort',
      '$select',
    ),
    fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.oneof(fc.constantFrom('1', '-1', '0', 'a', '507f1f77bcf86cd799439011'), word),
        fc.array(tie('value'), { minLength: 1, maxLength: 3 }),
        fc.dictionary(
          fc.oneof(fc.constantFrom('a', '_id', '$in', '$ne', '$gt', ...OPEN_OPERATORS), word),
          tie('value'),
          { minKeys: 1, maxKeys: 2 },
        ),
      ),
    })).value,
    { minKeys: 1, maxKeys: 3 },
  )
  .map((query) => stringify(query))
const nested = (open: string, close: string, depth: number): string =>
  `${open.repeat(depth)}1${close.repeat(depth)}`
export const body = fc.oneof(
  { weight: 5, arbitrary: json.map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: soup },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ...['{', '[', 'nul', '"', '{"a":1e400}', '{"a":-0}', '{"__proto__":{"polluted":1}}'],
      ...['{"constructor":{"prototype":{"polluted":1}}}', '\uFEFF{}', nested('[', ']', 60)],
      ...[nested('{"a":', '}', 5_000), nested('[', ']', 100_000), `{"a":"${'x'.repeat(70_000)}"}`],
    ),
  },
)
export const path = fc
  .tuple(
    fc.constantFrom('echo', 'notes', 'open', 'commands', 'tenants', 'late', '%65cho', 'health', ''),
    fc.array(encoded, { maxLength: 3 }),
  )
  .map(([service, segments]) => `/${[service, ...segments].join('/')}`)
export const verb = fc.constantFrom(
  ...(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const),
)
/** Headers can hold no line ends, and Node sends none but these characters. */
const headerValue = word.map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 500))
const contentType = fc.oneof(
  { weight: 8, arbitrary: fc.constant('application/json') },
  { weight: 2, arbitrary: fc.constant('application/x-www-form-urlencoded') },
  fc.constantFrom('text/plain', 'application/json; charset=utf-16', 'multipart/form-data'),
  headerValue,
)
const otherHeader = fc.oneof(
  fc.tuple(fc.constant('accept'), fc.oneof(fc.constantFrom('text/html', '*/*'), headerValue)),
  fc.tuple(fc.constant('x-service-method'), fc.constantFrom('shout', 'run', 'find', 'emit', 'a')),
  fc.tuple(fc.constantFrom('authorization', 'origin', 'content-encoding', 'range'), headerValue),
)
const headers = fc
  .tuple(contentType, fc.array(otherHeader, { maxLength: 2 }))
  .map(([type, others]) => Object.fromEntries([['content-type', type], ...others]))
export const request = fc.record({
  verb,
  path,
  query: fc.oneof(fc.constant(''), soup, deepQuery, deepQuery),
  headers,
  body: fc.option(body, { nil: undefined }),
})

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import formats from 'ajv-formats'
import { checkSync } from 'recheck'
import t from 'tap'

import { ObjectIdSchema } from '../../../../src/adapter/index.ts'
import { Ajv, addFormats, getValidator } from '../../../../src/core/schema/index.ts'
import { compileSchema, createAjv, FORMATS } from '../../../../src/core/schema/validation/ajv.ts'

t.test('takes schemas of the three dialects by their $schema', async (t) => {
  const pair = [{ type: 'number' }, { type: 'string' }]
  const schemas = [
    { type: 'array', prefixItems: pair },
    { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'array', prefixItems: pair },
    { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'array', items: pair },
    { $schema: 'http://json-schema.org/draft-07/schema#', type: 'array', items: pair },
    { $schema: 'http://json-schema.org/draft-07/schema', type: 'array', items: pair },
  ]
  for (const schema of schemas) {
    t.equal(compileSchema(schema)([1, 'a']), true)
    t.equal(compileSchema(schema)(['a', 1]), false)
  }
  const $schema = 'http://json-schema.org/draft-04/schema#'
  t.throws(() => compileSchema({ $schema }), /Unknown \$schema '.*draft-04.*known are .*draft-07/)
})

t.test('is strict, but takes plain JSON Schema', async (t) => {
  const ajv = createAjv()
  t.throws(() => ajv.compile({ type: 'string', minLenght: 3 }), /unknown keyword/)
  t.throws(() => ajv.compile({ properties: { a: { type: 'string' } } }), /missing type "object"/)
  t.doesNotThrow(() => ajv.compile({ type: ['string', 'null'] }))
  t.doesNotThrow(() => ajv.compile({ type: 'object', allOf: [{ required: ['a'] }] }))
})

t.test('FST-17: loads no schemas and takes no references to data', async (t) => {
  const ajv = createAjv()
  t.throws(() => ajv.compile({ $ref: 'https://example.org/schema' }), /can't resolve reference/)
  const pattern = {
    type: 'object',
    properties: { a: { type: 'string', pattern: { $data: '1/b' } } },
  }
  t.throws(() => ajv.compile(pattern), /pattern must be string/)
})

t.test('FST-17: a schema in what a caller sends stays data', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const sent = JSON.parse('{"a":"x","$schema":"y","$ref":"#","pattern":"(a+)+$","$data":"0/a"}')
  t.equal(await getValidator(schema)(sent), sent)
})

t.test('knows the keyword of ObjectIdSchema() from its first call on', async (t) => {
  const ajv = createAjv()
  const validate = getValidator({ type: 'object', properties: { id: ObjectIdSchema() } })
  await t.rejects(validate({ id: 'zz' }), { code: 400, data: [{ instancePath: '/id' }] })
  t.ok(createAjv().getKeyword('objectid'))
  t.ok(ajv.getKeyword('date'))
})

/** The expressions that the functions of `ajv-formats` use. */
function readConstants(): [name: string, regex: RegExp][] {
  const path = createRequire(import.meta.url).resolve('ajv-formats/dist/formats.js')
  const source = readFileSync(path, 'utf8')
  return [...source.matchAll(/^const ([A-Z_]+) = \/(.+)\/([a-z]*);$/gm)].map(
    ([, name = '', regex = '', flags]) => [name, new RegExp(regex, flags)],
  )
}

/** The expression of a format, where it is one alone. */
function readFormats(): [name: string, regex: RegExp][] {
  const ajv = addFormats(new Ajv())
  return Object.entries(ajv.formats).flatMap(([name, format]) =>
    format instanceof RegExp ? [[name, format] as [string, RegExp]] : [],
  )
}

t.test('FST-17: every expression of a format is safe by recheck', async (t) => {
  const constants = readConstants()
  t.ok(
    constants.some(([name]) => name === 'URI'),
    'the functions are read',
  )
  const found = [...readFormats(), ...constants]
  t.ok(found.length > 12, `${found.length} expressions`)
  for (const [name, { source, flags }] of found) {
    const { status } = checkSync(source, flags, { timeout: null, randomSeed: 1 })
    t.equal(status, 'safe', name)
  }
})

t.test('FST-17: the format that is left out is the one that is not safe', async (t) => {
  const { source, flags } = formats.default.get('url') as RegExp
  t.equal(checkSync(source, flags, { timeout: null, randomSeed: 1 }).status, 'vulnerable')
  for (const format of ['url', 'regex']) {
    t.throws(() => getValidator({ type: 'string', format }), /unknown format/)
  }
})

t.test('checks base64 as a whole', async (t) => {
  const validate = getValidator({ type: 'string', format: 'byte' })
  for (const text of ['', 'YWJj', 'YQ==', 'YWI=']) await t.resolves(validate(text))
  for (const text of ['Y', '!\nYWJj', 'YWJj\n', 'YQ='])
    await t.rejects(validate(text), { code: 400 })
})

t.test('an Ajv of your own gets the same formats, or those that you name', async (t) => {
  const compile = (ajv: Ajv, format: string) => ajv.compile({ type: 'string', format })
  const ajv = addFormats(new Ajv())
  for (const format of [...FORMATS, 'byte']) t.doesNotThrow(() => compile(ajv, format), format)
  t.throws(() => compile(ajv, 'url'), /unknown format/)
  const own = addFormats(new Ajv({ coerceTypes: true }), ['date-time'])
  t.equal(compile(own, 'date-time')('2026-01-31T12:00:00Z'), true)
  t.throws(() => compile(own, 'email'), /unknown format/)
})

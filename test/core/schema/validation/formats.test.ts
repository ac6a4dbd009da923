import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import formats from 'ajv-formats'
import { checkSync } from 'recheck'
import t from 'tap'

import { Ajv, addFormats, getValidator } from '../../../../src/core/schema/index.ts'
import { compileSchema, FORMATS } from '../../../../src/core/schema/validation/ajv.ts'
import { growthOf, LINEAR_GROWTH } from '../../../support/growth.ts'

/** Of time, so that a slow machine comes to the same end as a fast one. */
const WITHOUT_LIMITS = {
  timeout: null,
  incubationTimeout: null,
  attackTimeout: null,
  randomSeed: 1,
}

// Recheck tries many strings on each expression.
t.setTimeout(600_000)

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

t.test('every expression of a format is safe by recheck (FST-17)', async (t) => {
  const constants = readConstants()
  t.ok(
    constants.some(([name]) => name === 'URI'),
    'the functions are read',
  )
  const found = [...readFormats(), ...constants]
  t.ok(found.length > 12, `${found.length} expressions`)
  for (const [name, { source, flags }] of found) {
    const { status } = checkSync(source, flags, WITHOUT_LIMITS)
    t.equal(status, 'safe', name)
  }
})

t.test('every pattern in a schema of ours is safe by recheck (FST-17)', async (t) => {
  for (const folder of ['src', 'examples']) {
    const root = new URL(`../../../../../${folder}/`, import.meta.url)
    const files = readdirSync(root, { recursive: true }).map(String)
    const patterns = files
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => [
        ...readFileSync(new URL(file, root), 'utf8').matchAll(/\bpattern: '(.*?)'/g),
      ])
    t.ok(patterns.length > 0, folder)
    for (const [, pattern = ''] of patterns) {
      const { status } = checkSync(pattern, 'u', WITHOUT_LIMITS)
      t.equal(status, 'safe', pattern)
    }
  }
})

/** Of the texts; the same texts 16 times as long, 50 kB, are compared with them. */
const LENGTH = 3_000
const UNITS = [
  'a',
  '0',
  '.',
  '-',
  'a.',
  'a-',
  '0.',
  ':',
  '1:',
  '/',
  '~0',
  '%20',
  '{a}',
  '@',
  'a@',
  '=',
  '{',
  'P1',
]
const ENDS = ['', '!', '\u0000']

t.test('each format reads a string in steps that grow with its length only (FST-17)', async (t) => {
  for (const format of [...FORMATS, 'byte']) {
    const validate = compileSchema({ type: 'string', format })
    const growth = await growthOf((length) => {
      const texts = UNITS.flatMap((unit) => {
        const text = unit.repeat(length / unit.length)
        return ENDS.flatMap((end) => [text + end, `a@${text}${end}`, `a://${text}${end}`])
      })
      return () => {
        for (const text of texts) validate(text)
      }
    }, LENGTH)
    t.ok(growth < LINEAR_GROWTH, `${format}: 16 times the text took ${growth} times as long`)
  }
})

t.test('the format that is left out is the one that is not safe (FST-17)', async (t) => {
  const { source, flags } = formats.default.get('url') as RegExp
  t.equal(checkSync(source, flags, WITHOUT_LIMITS).status, 'vulnerable')
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

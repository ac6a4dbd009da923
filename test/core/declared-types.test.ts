import { readFileSync } from 'node:fs'
import t from 'tap'

import { compile } from '../support/compile.ts'

const page = readFileSync(
  new URL('../../../docs/reference/authentication.md', import.meta.url),
  'utf8',
)
const [, section = ''] = /^### The type of the user\n([\s\S]*?)^##/m.exec(page) ?? []
const [, documented = ''] = /```ts\n([\s\S]*?)```/.exec(section) ?? []

/** Every place where hooks, methods and plain routes see params, each a line. */
const PLACES: readonly string[] = [
  "app.service('notes').hooks({ before: { all: [(context) => context.params.user.email] } })",
  "app.service('notes').hooks({ before: { find: (context) => context.params.user.email } })",
  "app.service('notes').hooks({ before: { get: [(context) => context.params.user.email] } })",
  'app.hooks({ before: { all: [(context) => context.params.user.email] } })',
  'app.hooks({ around: [async (context) => context.params.user.email] })',
  'export const hook: Hook = (context) => context.params.user.email',
  'export const read = (params: Params) => params.user.email',
  'export const readCore = (params: CoreParams) => params.user.email',
  'export const readMongo = (params: MongoDBParams) => params.user.email',
  'export const readRequest = ({ feathers: params }: FastifyRequest) => params.user.email',
]

const SOURCE = `import type { FastifyRequest } from 'fastify'
import type { Hook, Params } from 'remex'
import type { Params as CoreParams } from 'remex/core'
import { createApp } from 'remex'
import type { MongoDBParams, MongoDBService } from 'remex/mongodb'
const app = createApp<{ notes: MongoDBService<{ text: string }> }>()
`

const linesBefore = SOURCE.split('\n').length

t.test('a user that is declared once has its type in all params', async (t) => {
  t.match(documented, 'interface DeclaredTypes')
  for (const entry of ['remex', 'remex/core']) {
    const errors = await compile(t, {
      'user.ts': 'export interface User { email: string }',
      'declared.ts': documented.replace("module 'remex'", `module '${entry}'`),
      'app.ts': SOURCE + PLACES.join('\n'),
    })
    t.strictSame(errors.map(toClaim), PLACES.map(toLine("possibly 'undefined'")))
  }
})

t.test('a user that is not declared is unknown', async (t) => {
  const errors = await compile(t, { 'app.ts': SOURCE + PLACES.join('\n') })
  t.strictSame(errors.map(toClaim), PLACES.map(toLine("of type 'unknown'")))
})

t.test('options of other packages have the types that are declared', async (t) => {
  const guide = readFileSync(
    new URL('../../../docs/guides/migrating-from-feathers.md', import.meta.url),
    'utf8',
  )
  const [declaration = ''] =
    /declare module 'remex' {\n {2}interface ServiceExtensions[\s\S]*?\n}/.exec(guide) ?? []
  const app = `import { createApp } from 'remex'
import type { MongoDBService } from 'remex/mongodb'
import { resolveMongoDBOptions } from 'remex/mongodb'
declare const service: MongoDBService<{ text: string }>
const notes = { find: async () => [] }
const docs = { description: 'Notes' }
const Model = service.getModel()
createApp().use('notes', notes, { extensions: { docs } })
resolveMongoDBOptions({ Model, extensions: { casl: { availableFields: ['a'] }, docs } })
service.options.casl?.availableFields.push('b')
`
  const other = "createApp().use('notes', notes, { extensions: { other: 1 } })\n"
  const wrong = "createApp().use('notes', notes, { extensions: { docs: 'Notes' } })\n"

  const files = { 'declared.ts': `import 'remex'\n${declaration}`, 'app.ts': app + other + wrong }
  t.match(await compile(t, files), [/^app.ts\(11\): .*'other' does not exist/, /^app.ts\(12\): /])
  const undeclared = { 'app.ts': app.replace(/^service.*\n/m, '') + other }
  t.strictSame(await compile(t, undeclared), [])
})

/** Returns the line of an error, and what is wrong with the expression there. */
function toClaim(error: string): string {
  return error.replace(/^app\.ts\((\d+)\): error TS\d+: '(?:context\.)?params\.user' is /, '$1: ')
}

function toLine(claim: string): (place: string, index: number) => string {
  return (_place, index) => `${linesBefore + index}: ${claim}.`
}

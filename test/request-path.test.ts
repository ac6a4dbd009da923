import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService } from '../src/adapter/index.ts'
import { createApp } from '../src/core/index.ts'
import { createApp as createServerApp, fastifyApp, rest } from '../src/transport/index.ts'
import { REST_FEATURES } from '../src/transport/rest-features.ts'
import { openDatabase } from './support/database.ts'
import type { EnteredFunctions } from './support/entered-functions.ts'
import { findEntered } from './support/entered-functions.ts'

/** How often a call runs before it is looked at: what is made once has been made then. */
const WARM_UP = 5

/** The rows of the table in CONTRIBUTING.md: what a call may enter at most. */
const LIMITS = readLimits()

/** What the plain GET has entered. */
let pathOfGet: EnteredFunctions = { functions: [], calls: 0, files: [] }

async function enter(call: () => Promise<unknown>): Promise<EnteredFunctions> {
  for (let count = 0; count < WARM_UP; count += 1) await call()
  return findEntered(call)
}

/** Says where a call has been, if it has been in more than it may. */
function checkLimits(t: Test, name: string, entered: EnteredFunctions): void {
  const { functions, calls, files } = entered
  const sizes = [functions.length, calls, files.length]
  t.comment(`${name}: ${sizes.join(' ')}`)
  const limits = LIMITS.get(name) ?? []
  t.equal(limits.length, sizes.length, 'is a row of the table')
  const isMore = sizes.some((size, index) => size > (limits[index] ?? 0))
  t.notOk(isMore, `${name} enters ${sizes.join(', ')}:\n${functions.join('\n')}`)
}

t.test('a plain GET enters no more functions than it may', async (t) => {
  const app = fastifyApp(createServerApp<{ messages: { get(id: string): Promise<object> } }>())
  app.configure(rest())
  app.use('messages', { get: async (id: string) => ({ id, text: 'Hello' }) })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(async () => {
    agent.destroy()
    await app.close()
  })
  const { port } = server.address() as AddressInfo
  const request = () =>
    new Promise((resolve, reject) => {
      get({ port, path: '/messages/7', agent }, (response) => {
        response.resume().once('end', resolve)
      }).once('error', reject)
    })
  pathOfGet = await enter(request)
  checkLimits(t, '`GET /messages/7`', pathOfGet)
})

t.test('few calls stand between the handler of Fastify and a service', async (t) => {
  let stack = ''
  const app = fastifyApp(createServerApp<{ messages: { get(id: string): Promise<object> } }>())
  app.configure(rest())
  app.use('messages', {
    get: async (id: string) => {
      stack = new Error('for its stack').stack ?? ''
      return { id }
    },
  })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = server.address() as AddressInfo
  t.equal((await fetch(`http://127.0.0.1:${port}/messages/7`)).status, 200)
  const frames = stack.split('\n').filter((line) => line.includes('/src/'))
  t.ok(frames.length > 0 && frames.length <= 6, stack)
})

t.test('a call of the adapter enters no more functions than it may', async (t) => {
  const database = await openDatabase(t)
  const app = createApp<{ notes: MongoDBService }>()
  app.use('notes', new MongoDBService({ Model: await database.empty('notes') }))
  const notes = app.service('notes')
  const { _id } = await notes.create({ text: 'Hello' })
  const calls = {
    get: () => notes.get(_id),
    find: () => notes.find({ query: { text: 'Hello' } }),
    create: () => notes.create({ text: 'Other' }),
    patch: () => notes.patch(_id, { text: 'Hello' }),
  }
  for (const [name, call] of Object.entries(calls)) {
    checkLimits(t, `\`MongoDBService.${name}\``, await enter(call))
  }
})

t.test('the table has no other rows', async (t) => {
  t.equal(LIMITS.size, 5)
})

function readLimits(): Map<string, number[]> {
  const text = readFileSync(new URL('../../CONTRIBUTING.md', import.meta.url), 'utf8')
  const [, table = ''] = text.split('<!-- request-path -->')
  const rows = table.matchAll(/^\| (`[^`]+`) \| (\d+) \| (\d+) \| (\d+) \|$/gm)
  return new Map([...rows].map(([, name = '', ...sizes]) => [name, sizes.map(Number)]))
}

t.test('the page of a request names the files that it enters, and each feature', async (t) => {
  const page = readFileSync(new URL('../../docs/life-of-a-request.md', import.meta.url), 'utf8')
  const [, files = '', features = ''] = page.split(/^## (?:A plain GET|Features)$/m)
  const named = [...files.matchAll(/^\|[^|]*\| `([^`]+)` \|/gm)].map(([, name]) => `${name}.js`)
  t.strictSame(named.toSorted(), pathOfGet.files.toSorted())
  const listed = [...features.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  t.strictSame(
    listed,
    REST_FEATURES.map(({ name }) => name),
  )
})

// Tests of an application, which docs/guides/testing.md explains. They run on an embedded database in memory,
// and the program ends with them. `npx tsx node_modules/remex/examples/testing.ts`.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import { after, test } from 'node:test'
import { authentication, createClient } from 'remex/client'
import { realtime } from 'remex/client/realtime'
import { startEmbeddedMongo } from 'remex/embedded'
import { NotAuthenticated, NotFound } from 'remex/errors'
import { connectMongoDB } from 'remex/mongodb'
import type { Services } from './testing/notes.ts'
import { createNotes } from './testing/notes.ts'

// One database server for all tests of this file.
const server = await startEmbeddedMongo()
const mongo = await connectMongoDB(server.url)
after(async () => {
  await mongo.close()
  await server.close()
})

/** Starts the application on a free port, with an empty database. */
async function startNotes(t: TestContext) {
  const db = mongo.db(`test-${randomUUID()}`)
  const app = createNotes({
    db,
    secret: randomBytes(32).toString('base64'),
    scryptCost: 1024,
    logLevel: 'error',
  })
  t.after(async () => {
    await app.close()
    await db.dropDatabase()
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const url = app.fastify.listeningOrigin

  /** Resolves to the client of a new user, who is logged in. */
  async function signUp(name: string) {
    const client = createClient<Services>({ baseURL: url })
    client.configure(authentication()).configure(realtime())
    const email = `${name}@example.org`
    const password = 'correct horse battery'
    await client.service('users').create({ email, password })
    const login = { strategy: 'local', email, password }
    const { accessToken } = await client.authenticate(login)
    return Object.assign(client, { accessToken })
  }
  return { app, db, url, signUp }
}

test('users read only their own notes', async (t) => {
  const { signUp } = await startNotes(t)
  const ann = await signUp('ann')
  const bob = await signUp('bob')
  const { _id } = await ann.service('notes').create({ text: 'Hello' })
  assert.equal((await ann.service('notes').get(_id)).text, 'Hello')
  await assert.rejects(bob.service('notes').get(_id), NotFound)
})

test('a note without text returns 400', async (t) => {
  const { url, signUp } = await startNotes(t)
  const { accessToken } = await signUp('ann')
  const response = await fetch(`${url}/notes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${accessToken}`,
      'content-type': 'application/json',
    },
    body: '{"text":""}',
  })
  assert.equal(response.status, 400)
})

test('guests get 401', async (t) => {
  const { app } = await startNotes(t)
  const { statusCode } = await app.fastify.inject({ url: '/notes' })
  assert.equal(statusCode, 401)
})

test('a note belongs to its author', async (t) => {
  const { app } = await startNotes(t)
  const user = await app.service('users').create({
    email: 'ann@example.org',
    password: 'correct horse battery',
  })
  const note = await app.service('notes').create({ text: 'Hello' }, { user })
  assert.deepEqual(note.ownerId, user._id)
})

test('a login ends after an hour', async (t) => {
  const { signUp } = await startNotes(t)
  const notes = (await signUp('ann')).service('notes')
  await notes.find()
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_601_000 })
  await assert.rejects(notes.find(), NotAuthenticated)
})

test('a live list shows own notes and no others', async (t) => {
  const { signUp } = await startNotes(t)
  const ann = (await signUp('ann')).service('notes')
  const bob = (await signUp('bob')).service('notes')
  const list = await ann.live()
  const isChanged = new Promise((resolve) => list.on('change', resolve))
  await bob.create({ text: 'From Bob' })
  await ann.create({ text: 'From Ann' })
  await isChanged
  assert.deepEqual(
    list.data.map(({ text }) => text),
    ['From Ann'],
  )
  list.close()
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startEmbeddedMongo } from 'remex/embedded'
import { BadRequest, NotAuthenticated, NotFound } from 'remex/errors'
import { connectMongoDB } from 'remex/mongodb'
import { createApi } from '../src/app.ts'
import { createApiClient } from '../src/client.ts'

// An in-memory database, gone when the tests end.
const database = await startEmbeddedMongo()
const mongo = await connectMongoDB(database.url)
const app = createApi(mongo.db('test'), { logger: { level: 'error' } })
await app.listen({ port: 0, host: '127.0.0.1' })
const service = (await signUp('ann')).service('messages')

after(async () => {
  await app.close()
  await mongo.close()
  await database.close()
})

/** Resolves to a client that is logged in as a new user. */
async function signUp(name: string) {
  const client = createApiClient(app.fastify.listeningOrigin)
  const account = { email: `${name}@example.org`, password: 'correct horse battery' }
  await client.service('users').create(account)
  await client.authenticate({ strategy: 'local', ...account })
  return client
}

test('messages are created, found, changed and removed', async () => {
  const { _id } = await service.create({ text: 'Hello' })
  const { total, data } = await service.find({ query: { text: 'Hello' } })
  assert.equal(total, 1)
  assert.equal(data[0]?._id, _id)
  assert.equal((await service.patch(_id, { text: 'Hi' })).text, 'Hi')
  await service.remove(_id)
  assert.equal((await service.find()).total, 0)
})

test('invalid messages are rejected', async () => {
  await assert.rejects(service.create({ text: '' }), BadRequest)
})

test('a live list of messages gets new ones', async () => {
  const list = await service.live()
  const heard = new Promise<string>((resolve) => {
    list.on('change', ({ data }) => data[0] && resolve(data[0].text))
  })
  await service.create({ text: 'News' })
  assert.equal(await heard, 'News')
  list.close()
})

test('messages of other users return 404, and guests get 401', async () => {
  const { _id } = await service.create({ text: 'Mine' })
  const others = (await signUp('bob')).service('messages')
  assert.equal((await others.find()).total, 0)
  await assert.rejects(others.patch(_id, { text: 'Ours' }), NotFound)
  const guest = createApiClient(app.fastify.listeningOrigin)
  await assert.rejects(guest.service('messages').find(), NotAuthenticated)
})

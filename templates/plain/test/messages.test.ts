import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startEmbeddedMongo } from 'remex/embedded'
import { BadRequest } from 'remex/errors'
import { connectMongoDB } from 'remex/mongodb'
import { createApi } from '../src/app.ts'
import { createApiClient } from '../src/client.ts'

// An in-memory database, gone when the tests end.
const database = await startEmbeddedMongo()
const mongo = await connectMongoDB(database.url)
const app = createApi(mongo.db('test'), { logger: { level: 'error' } })
await app.listen({ port: 0, host: '127.0.0.1' })
const client = createApiClient(app.fastify.listeningOrigin)
const service = client.service('messages')

after(async () => {
  await app.close()
  await mongo.close()
  await database.close()
})

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

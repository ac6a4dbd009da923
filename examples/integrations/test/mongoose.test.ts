import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import mongoose from 'mongoose'
import { startEmbeddedMongo } from 'remex/embedded'
import { MongoDBService } from 'remex/mongodb'
import { collectionOf, createUsers, User } from '../mongoose.ts'

assert.throws(() => collectionOf(User), /Call mongoose.connect\(\) first/)

const mongo = await startEmbeddedMongo()
const app = await createUsers(mongo.url)
await app.listen({ port: 0, host: '127.0.0.1' })
after(async () => {
  await app.close()
  assert.equal(mongoose.connection.readyState, 0)
  await mongo.close()
})

async function send(method: string, path: string, data?: object) {
  const response = await fetch(`${app.fastify.listeningOrigin}${path}`, {
    method,
    ...(data && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(data) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const team = new mongoose.Types.ObjectId()

test('a service reads and changes what a model has stored', async () => {
  const { id } = await User.create({ name: 'Ada', email: 'ada@example.org', password: 's', team })
  const { status, body } = await send('GET', `/users/${id}`)
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body).sort(), [
    ...['_id', 'createdAt', 'email', 'name', 'team', 'updatedAt'],
  ])
  await send('PATCH', `/users/${id}`, { name: 'Countess' })
  const stored = await User.findById(id)
  assert.equal(stored?.name, 'Countess')
  assert.ok(stored.updatedAt > stored.createdAt)
})

test('a model finds what a service has stored, with the types of its schema', async () => {
  const { status, body } = await send('POST', '/users', {
    name: 'Bob',
    email: 'bob@example.org',
    team: String(team),
  })
  assert.equal(status, 201)
  const stored = await User.findOne({ _id: String(body['_id']), team })
  assert.ok(stored?.createdAt instanceof Date)
  assert.ok(stored.team instanceof mongoose.Types.ObjectId)
})

test('the schema of the service validates, and the index of the model holds', async () => {
  assert.equal((await send('POST', '/users', { name: 'C', email: 'c@example.org' })).status, 400)
  const bob = { name: 'Bob', email: 'bob@example.org' }
  const { status, body } = await send('POST', '/users', bob)
  assert.deepEqual([status, body['data']], [409, { fields: ['email'] }])
})

test('hooks, validators and defaults of Mongoose do not run', async () => {
  const Strict = mongoose.model('Strict', new mongoose.Schema({ n: { type: Number, default: 5 } }))
  let saves = 0
  Strict.schema.pre('save', () => {
    saves += 1
  })
  app.use('strict' as never, new MongoDBService({ Model: collectionOf(Strict) }) as never)
  const { body } = await send('POST', '/strict', { other: 'kept' })
  assert.deepEqual(
    [body['n'], body['__v'], body['other'], saves],
    [undefined, undefined, 'kept', 0],
  )
})

test('the collection that a model has is a wrapper, which a service refuses', () => {
  const Model = User.collection as never
  assert.throws(() => new MongoDBService({ Model }), /must be a MongoDB collection/)
})

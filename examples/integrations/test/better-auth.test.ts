import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB } from 'remex/mongodb'
import { createNotes } from '../better-auth.ts'

const mongo = await startEmbeddedMongo()
const client = await connectMongoDB(mongo.url)
const url = 'http://127.0.0.1:3030'
const app = createNotes(client, url, 'only for tests: a secret of 32 bytes')
await app.listen({ port: 0, host: '127.0.0.1' })
after(async () => {
  await app.close()
  await client.close()
  await mongo.close()
})

async function send(
  path: string,
  { cookie = '', origin = url, ...data }: Record<string, string> = {},
) {
  const isRead = Object.keys(data).length === 0
  const response = await fetch(app.fastify.listeningOrigin + path, {
    method: isRead ? 'GET' : 'POST',
    headers: { cookie, origin, ...(isRead ? {} : { 'content-type': 'application/json' }) },
    body: isRead ? null : JSON.stringify(data),
  })
  const cookies = response.headers.getSetCookie().map((text) => text.split(';')[0])
  const { status, headers } = response
  const body: unknown = await response.json()
  return { status, headers, body, cookie: cookies.join('; ') }
}

const signUp = async (name: string): Promise<string> => {
  const data = { name, email: `${name}@example.org`, password: 'correct horse battery' }
  const { status, cookie } = await send('/api/auth/sign-up/email', data)
  assert.equal(status, 200)
  return cookie
}

test('services know who has logged in at better-auth', async () => {
  const [ada, bob] = [await signUp('ada'), await signUp('bob')]
  const created = await send('/notes', { cookie: ada, text: 'Hello' })
  assert.equal(created.status, 201)
  const read = await send('/notes', { cookie: ada })
  assert.deepEqual(read.body, [created.body])
  assert.equal(read.headers.get('cache-control'), 'no-store')
  assert.deepEqual((await send('/notes', { cookie: bob })).body, [])
})

test('without a valid session there is no access', async () => {
  assert.equal((await send('/notes')).status, 401)
  const [name, value = ''] = (await signUp('eve')).split('=')
  assert.equal((await send('/notes', { cookie: `${name}=${value.slice(0, -5)}` })).status, 401)
  assert.equal((await send('/authentication', { strategy: 'better-auth' })).status, 405)
})

test('a page of another site cannot write with the cookie', async () => {
  const cookie = await signUp('joe')
  const origin = 'https://evil.example'
  assert.equal((await send('/notes', { cookie, origin, text: 'Hello' })).status, 401)
  assert.deepEqual((await send('/notes', { cookie })).body, [])
})

test('a session that has ended at better-auth has ended here', async () => {
  const cookie = await signUp('tom')
  assert.equal((await send('/notes', { cookie })).status, 200)
  await send('/api/auth/sign-out', { cookie, any: 'body' })
  assert.equal((await send('/notes', { cookie })).status, 401)
})

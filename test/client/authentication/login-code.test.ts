import t from 'tap'
import { authentication, createClient, MemoryStorage } from '../../../src/client/index.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'
import { startOddServer } from '../odd-server.ts'
import { showPage } from './page.ts'

const HASH = '#code=a.b%3D&strategy=example'

/** Starts a server that gives `t1`, `t2` … for codes, or answers them with another status. */
async function start(t: TestScope, answer: { status?: number; gate?: Gate; body?: object } = {}) {
  const asked: Record<string, unknown>[] = []
  const odd = await startOddServer(t, async (_request, response) => {
    const data = JSON.parse(odd.requests.at(-1)?.body || '{}')
    asked.push(data)
    if (data.code === undefined) {
      response.writeHead(201).end(JSON.stringify({ accessToken: data.accessToken }))
      return
    }
    await answer.gate?.pass()
    const body = answer.body ?? { accessToken: `t${asked.length}`, message: 'Too late' }
    response.writeHead(answer.status ?? 201).end(JSON.stringify(body))
  })
  const storage = new MemoryStorage()
  const client = createClient({ baseURL: odd.url }).configure(authentication({ storage }))
  return { client, storage, asked, odd }
}

const EXCHANGE = { strategy: 'example', code: 'a.b=' }

t.test('exchanges the code of the page once, and logs in by its token', async (t) => {
  const { client, storage, asked, odd } = await start(t)
  const { entries } = showPage(t, `http://page/app${HASH}`)
  t.match(await client.reAuthenticate(), { accessToken: 't1' })
  t.strictSame(asked, [EXCHANGE, { strategy: 'jwt', accessToken: 't1' }])
  t.match(odd.requests[0], { method: 'POST', url: '/authentication' })
  t.strictSame(entries, [[{ of: 'router' }, 'http://page/app']], 'one change of the address')
  t.equal(await storage.getItem('feathers-jwt'), 't1')
  await client.reAuthenticate(true)
  t.equal(asked.length, 3, 'the token is used from then on')
})

t.test('takes code and strategy out of a hash only together, and leaves the rest', async (t) => {
  const { client } = await start(t)
  const hashes: [hash: string, token: string | null, rest: string][] = [
    ['#code=a&strategy=b', 't1', ''],
    ['#/path?strategy=b&code=a', 't2', '/path'],
    ['#a=b&code=a&c=d&strategy=b', 't3', 'a=b&c=d'],
    ['#code=a', null, '#code=a'],
    ['#strategy=b', null, '#strategy=b'],
    ['#mycode=a&strategy=b', null, '#mycode=a&strategy=b'],
    ['#code=&strategy=b', null, ''],
    ['#code=a&strategy=', null, ''],
  ]
  for (const [hash, token, rest] of hashes) {
    const location = { hash }
    t.equal(await client.authentication.getFromLocation(location), token, hash)
    t.equal(location.hash, rest, hash)
  }
})

t.test('a code that the server refuses is an error of a login', async (t) => {
  const { client, asked } = await start(t, { status: 401 })
  const { location } = showPage(t, `http://page/${HASH}`)
  const error = { name: 'OauthError', code: 401, message: 'Too late' }
  await t.rejects(client.reAuthenticate(), error)
  t.equal(location.href, 'http://page/')
  await t.rejects(client.reAuthenticate(), { message: 'No accessToken found in storage' })
  t.strictSame(asked, [EXCHANGE])
})

t.test('an answer that is none is told as it is, and the code is not sent again', async (t) => {
  const answers = [{ status: 503 }, { status: 201, body: {} }]
  for (const answer of answers) {
    const { client, asked } = await start(t, answer)
    showPage(t, `http://page/${HASH}`)
    await t.rejects(client.reAuthenticate(), { code: answer.status === 503 ? 503 : 500 })
    t.strictSame(asked, [EXCHANGE])
  }
})

t.test('logins that begin while the code is exchanged get its token', async (t) => {
  const gate = new Gate()
  const { client, asked } = await start(t, { gate })
  showPage(t, `http://page/${HASH}`)
  const reading = client.authentication.getAccessToken()
  await gate.arrivals(1)
  const other = client.authentication.getAccessToken()
  gate.open()
  t.equal(await other, 't1')
  t.equal(await reading, 't1')
  t.strictSame(asked, [EXCHANGE])
})

t.test('a token that comes after a logout logs nobody in', async (t) => {
  const gate = new Gate()
  const { client, asked } = await start(t, { gate })
  showPage(t, `http://page/${HASH}`)
  const reading = client.reAuthenticate()
  await gate.arrivals(1)
  await client.logout()
  gate.open()
  await t.rejects(reading, { code: 401 })
  await t.rejects(client.reAuthenticate(), { message: 'No accessToken found in storage' })
  t.equal(asked.length, 1)
})

t.test('a token in the storage comes first', async (t) => {
  const { client, storage } = await start(t)
  await storage.setItem('feathers-jwt', 'kept')
  const { location } = showPage(t, `http://page/${HASH}`)
  t.match(await client.reAuthenticate(), { accessToken: 'kept' })
  t.equal(location.href, 'http://page/')
  t.equal(await storage.getItem('feathers-jwt'), 'kept')
})

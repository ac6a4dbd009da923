import officialAuthentication from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import t from 'tap'
import type { LocationWithHash } from '../../../src/client/index.ts'
import { authentication, createClient, MemoryStorage } from '../../../src/client/index.ts'
import type { TestScope } from '../../support/http.ts'
import { startOddServer } from '../odd-server.ts'
import { CREDENTIALS, startLoginServer } from './login-server.ts'
import { showPage, showParts } from './page.ts'

const { authentication: reader } = createClient().configure(authentication())

t.test('takes a token out of a hash, and leaves the rest', async (t) => {
  const hashes: [hash: string, token: string | null, rest: string][] = [
    ['#access_token=a.b-c_d', 'a.b-c_d', ''],
    ['#access_token=a&state=b', 'a', 'state=b'],
    ['#state=b&access_token=a', 'a', 'state=b'],
    ['#a=b&access_token=a&c=d', 'a', 'a=b&c=d'],
    ['#/path&access_token=a', 'a', '/path'],
    ['#/path?access_token=a', 'a', '/path'],
    ['#/path?b=c&access_token=a', 'a', '/path?b=c'],
    ['#access_token=a&access_token=b', 'a', ''],
    ['#access_token=a%2Eb', 'a.b', ''],
    ['#access_token=100%', '100%', ''],
    ['#access_token=', null, ''],
    ['#my_access_token=a', null, '#my_access_token=a'],
    ['#access_tokens=a', null, '#access_tokens=a'],
    ['#/access_token', null, '#/access_token'],
    ['', null, ''],
  ]
  for (const [hash, token, rest] of hashes) {
    const location = { hash }
    t.equal(await reader.getFromLocation(location), token, hash)
    t.equal(location.hash, rest, hash)
  }
})

t.test('a location whose hash is no string holds no token, as in Feathers', async (t) => {
  const official = feathers().configure(officialAuthentication.default())
  for (const location of [
    {},
    { hash: undefined },
    { hash: null },
    { href: 'a#access_token=b' },
    [],
  ]) {
    t.equal(await official['authentication'].getFromLocation(location), null)
    t.equal(await reader.getFromLocation(location as LocationWithHash), null)
  }
  for (const location of [{ hash: 1 }, { hash: {} }, { hash: ['#access_token=b'] }]) {
    t.equal(await reader.getFromLocation(location as unknown as LocationWithHash), null)
  }
})

t.test('a page with a part of what browsers have logs in by the token that is kept', async (t) => {
  const histories = [undefined, null, {}]
  for (const location of [{}, null, 'http://page/', { hash: null }, { hash: '' }]) {
    showParts(t, { location })
    const { client } = await startTokenServer(t, {})
    t.match(await client.reAuthenticate(), { accessToken: 'kept' })
  }
  for (const history of histories) {
    const location = { hash: '#a=b&access_token=c' }
    showParts(t, { location, history })
    const { client } = await startTokenServer(t, { kept: 401 })
    t.match(await client.reAuthenticate(), { accessToken: 'c' })
    t.equal(location.hash, 'a=b')
  }
  const location = { hash: '#access_token=c' }
  showParts(t, { location, history: { replaceState: () => t.fail('there is no URL') } })
  t.equal(await createClient().configure(authentication()).authentication.getAccessToken(), 'c')
  t.equal(location.hash, '')
})

t.test('an error in the hash is one of a login', async (t) => {
  const location = { hash: '#error=Not%20today&a=b' }
  const error = { name: 'OauthError', code: 401, message: 'Not today' }
  await t.rejects(reader.getFromLocation(location), error)
  t.equal(location.hash, 'a=b')
})

t.test('logs in by the token of the page, which moves from its URL to the storage', async (t) => {
  const server = await startLoginServer(t)
  const { accessToken } = await createClient({ baseURL: server.url })
    .configure(authentication())
    .authenticate(CREDENTIALS)
  const { entries } = showPage(t, `http://page/app?a=b#/home?access_token=${accessToken}`)
  const storage = new MemoryStorage()
  const client = createClient({ baseURL: server.url }).configure(authentication({ storage }))
  t.match(await client.reAuthenticate(), { accessToken })
  t.strictSame(entries, [[{ of: 'router' }, 'http://page/app?a=b#/home']])
  t.equal(await storage.getItem('feathers-jwt'), accessToken)
})

t.test('a hash that is empty then goes as well', async (t) => {
  const { entries } = showPage(t, 'http://page/app#access_token=a')
  t.equal(await reader.getAccessToken(), 'a')
  t.strictSame(entries, [[{ of: 'router' }, 'http://page/app']])
  t.equal(await reader.getAccessToken(), 'a', 'from the storage')
  await reader.removeAccessToken()
})

t.test('the token of the page is not lost with a server that is out of reach', async (t) => {
  showPage(t, 'http://page/#access_token=a')
  const odd = await startOddServer(t, (_request, response) => response.writeHead(503).end())
  const storage = new MemoryStorage()
  const client = createClient({ baseURL: odd.url }).configure(authentication({ storage }))
  await t.rejects(client.reAuthenticate(), { code: 503 })
  t.equal(await storage.getItem('feathers-jwt'), 'a')
})

t.test('a token in the storage comes first, and one elsewhere by another name', async (t) => {
  const { location } = showPage(t, 'http://page/#access_token=a&jwt=b&oops=c')
  const storage = new MemoryStorage()
  await storage.setItem('feathers-jwt', 'kept')
  const client = createClient().configure(authentication({ storage }))
  t.equal(await client.authentication.getAccessToken(), 'kept')
  t.equal(location.href, 'http://page/#jwt=b&oops=c', 'the URL is rid of the token in any case')
  const options = { locationKey: 'jwt', locationErrorKey: 'oops' }
  const other = createClient().configure(authentication(options))
  t.equal(await other.authentication.getAccessToken(), 'b')
  await other.authentication.removeAccessToken()
  await t.rejects(other.authentication.getAccessToken(), { name: 'OauthError', message: 'c' })
})

/** Starts a server that refuses the tokens of some, and is broken for others. */
async function startTokenServer(t: TestScope, answers: Record<string, number>) {
  const asked: string[] = []
  const odd = await startOddServer(t, (_request, response) => {
    const { accessToken = 'logout' } = JSON.parse(odd.requests.at(-1)?.body || '{}')
    asked.push(accessToken)
    response.writeHead(answers[accessToken] ?? 201).end(JSON.stringify({ accessToken }))
  })
  const storage = new MemoryStorage()
  await storage.setItem('feathers-jwt', 'kept')
  const client = createClient({ baseURL: odd.url }).configure(authentication({ storage }))
  return { client, storage, asked }
}

t.test('where the server refuses the stored token, that of the page is tried', async (t) => {
  const { location } = showPage(t, 'http://page/#access_token=a')
  const { client, storage, asked } = await startTokenServer(t, { kept: 401 })
  t.match(await client.reAuthenticate(), { accessToken: 'a' })
  t.strictSame(asked, ['kept', 'a'])
  t.equal(location.href, 'http://page/')
  t.equal(await storage.getItem('feathers-jwt'), 'a')
})

t.test('the token of the page waits for a server that is out of reach', async (t) => {
  showPage(t, 'http://page/#access_token=a')
  const answers: Record<string, number> = { kept: 503 }
  const { client, storage, asked } = await startTokenServer(t, answers)
  await t.rejects(client.reAuthenticate(), { code: 503 })
  Object.assign(answers, { kept: 401, a: 503 })
  await t.rejects(client.reAuthenticate(), { code: 503 })
  t.equal(await storage.getItem('feathers-jwt'), 'a')
  t.strictSame(asked, ['kept', 'kept', 'a'])
})

t.test('the token of the page is forgotten once somebody has logged in, or out', async (t) => {
  for (const leave of [false, true]) {
    const { location } = showPage(t, 'http://page/#access_token=a')
    const answers: Record<string, number> = {}
    const { client, storage, asked } = await startTokenServer(t, answers)
    if (leave) {
      await client.authentication.getAccessToken()
      await client.logout()
      await storage.setItem('feathers-jwt', 'kept')
    } else t.match(await client.reAuthenticate(), { accessToken: 'kept' })
    t.equal(location.href, 'http://page/')
    answers['kept'] = 401
    await t.rejects(client.reAuthenticate(true), { code: 401 })
    t.notOk(asked.includes('a'))
  }
})

t.test('an error in the hash is thrown where no token logs in, and else logged', async (t) => {
  const { location } = showPage(t, 'http://page/#error=Not%20today')
  const { client } = await startTokenServer(t, {})
  const logged: unknown[] = []
  client.logger = { ...console, warn: (...values: unknown[]) => void logged.push(...values) }
  t.match(await client.reAuthenticate(), { accessToken: 'kept' })
  t.match(logged, [{ err: { name: 'OauthError' } }, 'The login in the URL of the page has failed'])
  t.equal(location.href, 'http://page/')
  showPage(t, 'http://page/#error=Not%20today')
  const { client: refused, storage } = await startTokenServer(t, { kept: 401 })
  await t.rejects(refused.reAuthenticate(), { name: 'OauthError', message: 'Not today' })
  t.equal(await storage.getItem('feathers-jwt'), null)
})

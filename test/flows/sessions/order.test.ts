import t from 'tap'
import { authentication, rest } from '../../../src/client/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { ADA, startSessions } from '../../support/session-server.ts'

const database = await openDatabase(t)

const ORIGIN = 'https://front.example.org'
const BOB = { email: 'bob@example.org', password: 'bobs own horse' }

/** A client in a browser with cookies, which have effect as soon as an answer is there. Refreshes wait at a gate. */
async function startBrowser(t: Parameters<typeof startSessions>[0]) {
  const options = { cookie: 'all', origins: [ORIGIN] }
  const { server, stored } = await startSessions(t, database, options)
  await server.request('/users', { data: BOB })
  const jar = new Map<string, string>()
  const arrived: string[] = []
  const refreshes = new Gate()
  const send = async (url: string, init: RequestInit) => {
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const headers = { ...Object(init.headers), origin: ORIGIN, ...(cookie && { cookie }) }
    const answer = await fetch(url, { ...init, headers })
    const isRefresh = String(init.body).includes('"refresh"')
    if (isRefresh) await refreshes.pass()
    arrived.push(isRefresh ? 'refresh' : String(init.method))
    for (const header of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(header) ?? []
      if (header.includes('Max-Age=0;')) jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  const app = createApp()
    .configure(rest(server.url).fetch(send as never))
    .configure(authentication({ cookie: true }))
  const client = app as unknown as {
    authenticate(data: object): Promise<unknown>
    reAuthenticate(force: boolean): Promise<unknown>
    logout(): Promise<unknown>
    service(path: string): { find(): Promise<unknown> }
  }
  await client.authenticate({ strategy: 'local', ...ADA })
  arrived.length = 0
  /** Lets the answer to a refresh come, after anything that does not wait for it. */
  const openGate = async (): Promise<void> => {
    await refreshes.arrivals(1)
    for (let turn = 0; turn < 3; turn += 1) await server.request('/nothing')
    refreshes.open()
  }
  return { client, jar, arrived, stored, openGate }
}

t.test('a logout waits for the cookies of a refresh under way', async (t) => {
  const { client, jar, arrived, stored, openGate } = await startBrowser(t)
  const refreshed = t.rejects(client.reAuthenticate(true), { code: 401 })
  await Promise.all([client.logout(), openGate(), refreshed])
  t.strictSame(arrived, ['refresh', 'DELETE'])
  t.equal(jar.size, 0)
  t.equal(await stored.countDocuments(), 0)
  await t.rejects(client.service('notes').find(), { code: 401 })
})

t.test('a login waits for the cookies of a refresh under way', async (t) => {
  const { client, arrived, stored, openGate } = await startBrowser(t)
  const refreshed = client.reAuthenticate(true)
  const login = client.authenticate({ strategy: 'local', ...BOB })
  await Promise.all([openGate(), refreshed])
  t.match(await login, { user: { email: BOB.email } })
  t.strictSame(arrived, ['refresh', 'POST'])
  t.match(await client.reAuthenticate(true), { user: { email: BOB.email } })
  t.equal(await stored.countDocuments(), 1)
})

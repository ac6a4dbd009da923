import { connect as connectTo } from 'node:net'
import t from 'tap'
import { JwtStrategy } from '../../../src/auth/index.ts'
import type { Params } from '../../../src/core/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { Gate } from '../../support/gate.ts'
import { until } from '../../support/until.ts'
import { CREDENTIALS } from '../../support/users.ts'
import { startSocketApp } from './socket-app.ts'

/** Finds users who are not banned. */
class ActiveUsers extends JwtStrategy {
  override getEntityQuery(): Record<string, unknown> {
    return { isBanned: false }
  }
}

type Users = Record<'patch' | 'remove', (id: number, data?: object) => Promise<unknown>>

const ENDS: Readonly<Record<string, (users: Users, id: number) => Promise<unknown>>> = {
  'is removed': (users, id) => users.remove(id),
  'is banned': (users, id) => users.patch(id, { isBanned: true }),
  'has another password': (users, id) => users.patch(id, { password: 'another horse' }),
}

for (const [title, change] of Object.entries(ENDS)) {
  t.test(`SIO-14: a connection whose user ${title}`, async (t) => {
    const { app, connect, logIn, id } = await startSocketApp(t, {
      jwt: new ActiveUsers(),
      configure: (app) =>
        app.service('users').hooks({
          before: {
            create: [(context) => void Object.assign(context.data as object, { isBanned: false })],
          },
        }),
    })
    const [client, other] = [await connect(), await connect()]
    const { accessToken } = await logIn(client)
    t.match(await client.call('find', 'me'), { user: { email: CREDENTIALS.email } })
    const events = client.collect('notes created')
    await change(app.service('users') as never, id)
    await until(() => !client.socket.connected)
    t.equal(app.channel('users').length, 0)
    const heard = other.collect('notes created')
    await app.service('notes').create({ n: 1 } as never)
    await until(() => heard.length === 1)
    t.strictSame(events, [])
    const again = connect({ auth: { accessToken } }).catch((error: unknown) => error)
    // A change of the password ends connections, and tokens only where the application says so.
    const expected = title === 'has another password' ? {} : { data: { code: 401 } }
    t.match(await again, expected)
  })
}

t.test('SIO-15: a channel joined before the login, and events after the logout', async (t) => {
  const { app, connect, logIn } = await startSocketApp(t)
  app.publish(() => app.channel('users'))
  const [client, stranger, other] = [await connect(), await connect(), await connect()]
  await Promise.all([logIn(client), logIn(other)])
  const [events, never, fence] = [client, stranger, other].map((one) =>
    one.collect('notes created'),
  )
  await app.service('notes').create({ n: 1 } as never)
  await until(() => events?.length === 1 && fence?.length === 1)
  await client.call('remove', 'authentication', null)
  await app.service('notes').create({ n: 2 } as never)
  await until(() => fence?.length === 2)
  await stranger.call('get', 'notes', 1)
  await client.call('get', 'notes', 1)
  t.strictSame([events?.length, never?.length], [1, 0])
  t.strictSame([app.channel('users').length, client.socket.connected], [1, true])
  await t.rejects(client.call('find', 'me'), { code: 401 })
})

t.test('SIO-16: a connection whose token expires', async (t) => {
  const { app, connect, logIn } = await startSocketApp(t, {
    settings: { jwtOptions: { expiresIn: '1s' } },
  })
  const [client, stranger] = [await connect(), await connect()]
  await logIn(client)
  await until(() => !client.socket.connected)
  t.equal(app.channel('users').length, 0)
  t.equal(stranger.socket.connected, true)
})

const PAGE = 'https://app.example'

const ORIGINS: readonly (readonly [origin: string, allowed: unknown, isServed: boolean])[] = [
  ['https://evil.example', undefined, false],
  ['https://evil.example', [PAGE], false],
  ['https://app.example.evil.example', [PAGE], false],
  ['http://app.example', PAGE, false],
  ['null', [PAGE], false],
  ['https://evil.example', false, false],
  ['https://evil.example', (_origin: string, done: (...a: unknown[]) => void) => done(null), false],
  [PAGE, PAGE, true],
  [PAGE, ['https://other.example', /^https:\/\/app\.example$/g], true],
  [PAGE, true, true],
  [PAGE, '*', true],
  [PAGE, (origin: string, done: (...a: unknown[]) => void) => done(null, origin === PAGE), true],
]

t.test('SIO-17: handshakes with cookies, from pages of other sites', async (t) => {
  const cookie = 'session=secret'
  for (const [origin, allowed, isServed] of ORIGINS) {
    const cors = { cors: { origin: allowed as string } }
    const { url, openRaw } = await startSocketApp(t, {
      options: allowed === undefined ? {} : cors,
    })
    const title = `${origin} ${String(allowed)}`
    const target = `${url}/socket.io/?EIO=4&transport=polling`
    const answer = await fetch(target, { headers: { cookie, origin } })
    t.equal(answer.status, isServed ? 200 : 403, title)
    if (!isServed) t.match(await answer.json(), { name: 'Forbidden', code: 403 }, title)
    const opening = openRaw({ cookie, origin })
    if (isServed) await opening
    else await t.rejects(opening, title)
    const others: Record<string, string>[] = [{ origin }, { cookie }, { cookie, origin: url }, {}]
    for (const headers of others) t.ok(await openRaw(headers), JSON.stringify(headers))
    const { sid } = JSON.parse((await (await fetch(target)).text()).slice(1)) as { sid: string }
    const post = { method: 'POST', body: '40', headers: { cookie, origin } }
    t.equal((await fetch(`${target}&sid=${sid}`, post)).status, isServed ? 200 : 403, title)
  }
})

/** Opens a WebSocket that joins the services, and says nothing else. */
function openIdle(url: string): Promise<{ destroy(): unknown }> {
  const { host, hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connectTo({ host: hostname, port: Number(port) })
    const headers = [
      ...[`Host: ${host}`, 'Connection: Upgrade', 'Upgrade: websocket'],
      ...['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='],
    ]
    socket.write(
      `GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`,
    )
    let text = ''
    socket.on('error', reject)
    socket.on('data', (chunk) => {
      const isNew = !text.includes('"maxPayload"')
      text += chunk.toString('latin1')
      // A frame with the text `40`, whose mask is zero.
      if (isNew && text.includes('"maxPayload"')) {
        socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x34, 0x30]))
      }
      if (/40\{"sid/.test(text)) resolve(socket)
    })
  })
}

/** How many sockets a process may have whose clients are in it as well. */
function countSockets(): number {
  const { userLimits } = process.report.getReport() as unknown as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: number | string } }
  }
  const limit = Number(userLimits?.open_files?.soft ?? 1_024)
  return Math.min(10_000, Math.floor(((limit || 20_200) - 200) / 2))
}

t.test('SIO-18: 10,000 idle sockets', { timeout: 300_000 }, async (t) => {
  // They answer no ping, and on a busy machine it takes a while to open them all.
  const { app, url, connect } = await startSocketApp(t, { options: { pingTimeout: 600_000 } })
  const client = await connect()
  const count = countSockets()
  const before = process.memoryUsage()
  const sockets: { destroy(): unknown }[] = []
  while (sockets.length < count) {
    const size = Math.min(100, count - sockets.length)
    sockets.push(...(await Promise.all(Array.from({ length: size }, () => openIdle(url)))))
  }
  const { rss } = process.memoryUsage()
  t.comment(`${count} sockets, ${Math.round((rss - before.rss) / count)} bytes each on both sides`)
  await until(() => app.channel('anonymous').length === count + 1)
  t.match(await client.call('get', 'notes', 1), { id: 1 })
  for (const socket of sockets) socket.destroy()
  await until(() => app.channel('anonymous').length === 1)
  t.equal((app as FastifyApplication).io.engine.clientsCount, 1)
  t.match(await client.call('get', 'notes', 2), { id: 2 })
})

t.test('SIO-15: events after the logout, by a channel that was empty before', async (t) => {
  const { app, connect, logIn } = await startSocketApp(t)
  const vips = app.channel('vips')
  app.on('login', (_result: unknown, { connection }: { connection?: object }) => {
    vips.join(connection)
  })
  app.publish(() => [vips, app.channel('anonymous')])
  const [first, client, fence] = [await connect(), await connect(), await connect()]
  first.socket.close()
  await until(() => app.channel('anonymous').length === 2)
  await logIn(client)
  await client.call('remove', 'authentication', null)
  const events = client.collect('notes created')
  const fences = fence.collect('notes created')
  await app.service('notes').create({ n: 1 } as never)
  await until(() => fences.length === 1)
  await client.call('get', 'notes', 1)
  t.strictSame([events, vips.length], [[], 0])
})

t.test('SIO-14: a channel joined by a call that outlasts the login', async (t) => {
  const [gate, end] = [new Gate(), new Gate()]
  const { app, connect, logIn, id } = await startSocketApp(t, {
    configure: (app) =>
      app.use('rooms', {
        create: async (data: object, { connection }: Params) => {
          await gate.pass()
          app.channel('rooms').join(connection as object)
          return end.pass(data)
        },
      }),
  })
  app.publish(() => app.channel('rooms', 'anonymous'))
  const [client, other] = [await connect(), await connect()]
  await logIn(client)
  const joined = client.call('create', 'rooms', {})
  await gate.arrivals(1)
  const events = client.collect('notes created')
  const fence = other.collect('notes created')
  await app.service('users').remove(id)
  gate.open()
  await end.arrivals(1)
  await app.service('notes').create({ n: 1 } as never)
  await until(() => fence.length === 1)
  end.open()
  await joined
  await until(() => !client.socket.connected)
  t.strictSame(events, [])
})

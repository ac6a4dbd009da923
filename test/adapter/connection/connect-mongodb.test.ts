import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import t from 'tap'

import type { ConnectOptions } from '../../../src/adapter/connection/connect-mongodb.ts'
import { connectMongoDB } from '../../../src/adapter/connection/connect-mongodb.ts'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { Unavailable } from '../../../src/core/errors/index.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import type { TestScope } from '../../support/http.ts'
import { until } from '../../support/until.ts'

const embedded = await startEmbeddedMongo()
t.teardown(() => embedded.close())

const toUrl = (query: string) => `mongodb://127.0.0.1:${new URL(embedded.url).port}/?${query}`

const BUDGETS = {
  connectTimeoutMS: 1_000,
  heartbeatFrequencyMS: 1_000,
  maxConnecting: 50,
  maxPoolSize: 50,
  serverSelectionTimeoutMS: 1_500,
  waitQueueTimeoutMS: 2_000,
}

const SLOW = {
  ...BUDGETS,
  connectTimeoutMS: 9_000,
  serverSelectionTimeoutMS: 18_000,
  waitQueueTimeoutMS: 18_000,
}

const GIVEN: readonly [string, string, ConnectOptions, object][] = [
  ['none', '', {}, BUDGETS],
  ['undefined', '', { maxPoolSize: undefined } as never, BUDGETS],
  ['one in the URL', 'waitQueueTimeoutMS=7000', {}, { ...BUDGETS, waitQueueTimeoutMS: 7_000 }],
  ['one in other letters', 'MAXPOOLSIZE=3', {}, { ...BUDGETS, maxPoolSize: 3 }],
  ['an option', '', { heartbeatFrequencyMS: 9_000 }, { ...BUDGETS, heartbeatFrequencyMS: 9_000 }],
  ['time to connect', '', { connectTimeoutMS: 9_000 }, SLOW],
  ['time to connect in the URL', 'connecttimeoutms=9000', {}, SLOW],
  [
    'more time to connect than half of the longest timer',
    'connectTimeoutMS=2000000000',
    {},
    {
      ...BUDGETS,
      connectTimeoutMS: 2_000_000_000,
      serverSelectionTimeoutMS: 2 ** 31 - 1,
      waitQueueTimeoutMS: 2 ** 31 - 1,
    },
  ],
  ['less time to connect', '', { connectTimeoutMS: 999 }, { ...BUDGETS, connectTimeoutMS: 999 }],
  ['no limit to connect', '', { connectTimeoutMS: 0 }, { ...BUDGETS, connectTimeoutMS: 0 }],
  [
    'time to connect and to wait',
    'connectTimeoutMS=9000',
    { waitQueueTimeoutMS: 7_000 },
    { ...SLOW, waitQueueTimeoutMS: 7_000 },
  ],
  ['both', 'maxPoolSize=3', { maxPoolSize: 4 }, { ...BUDGETS, maxPoolSize: 4 }],
]

for (const [title, query, options, expected] of GIVEN) {
  t.test(`gives the driver its budgets; set by the caller: ${title}`, async (t) => {
    const client = await connectMongoDB(toUrl(query), options)
    t.teardown(() => client.close())
    t.match(client.options, expected)
    t.equal(client.options.socketTimeoutMS, 0, 'a query that is slow is not cut off')
    t.match(await client.db('a').command({ ping: 1 }), { ok: 1 })
  })
}

t.test('makes the connections for calls at the same time all at once', async (t) => {
  const proxy = await startFaultProxy(t, embedded.url)
  const client = await connectMongoDB(proxy.url, {
    // The heartbeat has its connection, and the test ends before the next one.
    ...{ connectTimeoutMS: 60_000, heartbeatFrequencyMS: 600_000 },
  })
  t.teardown(() => client.close())
  const things = client.db('a').collection('things')
  const held: (() => void)[] = []
  proxy.slowDown((pass, name) => (name === 'ismaster' ? held.push(pass) : pass()))
  const calls = Promise.all(Array.from({ length: 12 }, () => things.findOne()))
  await until(() => held.length >= 11, calls)
  t.ok(held.length <= 12, 'none is made for a call that has a connection')
  proxy.release()
  for (const pass of held) pass()
  t.strictSame(await calls, Array(12).fill(null))
})

t.test('makes no more connections than the pool holds', async (t) => {
  const proxy = await startFaultProxy(t, embedded.url)
  const client = await connectMongoDB(proxy.url, {
    ...{ connectTimeoutMS: 60_000, heartbeatFrequencyMS: 600_000, maxPoolSize: 3 },
  })
  t.teardown(() => client.close())
  let made = 0
  client.on('connectionCreated', () => {
    made += 1
  })
  const things = client.db('a').collection('things')
  await Promise.all(Array.from({ length: 12 }, () => things.findOne()))
  t.ok(made <= 3)
})

t.test('refuses timeoutMS in the URL and the options, as driver 7 ignores it (DB-7)', async (t) => {
  const options = { timeoutMS: 5 } as ConnectOptions
  await t.rejects(connectMongoDB(embedded.url, options), {
    name: 'TypeError',
    message: /timeoutMS/,
  })
  await t.rejects(connectMongoDB(toUrl('timeoutMS=5')), { message: /driver 7 ignores/ })
  await t.rejects(connectMongoDB(toUrl('timeoutms=5')), TypeError)
})

/** Opens a port where connections are taken and nothing is answered. */
async function openSilentPort(t: TestScope) {
  const sockets = new Set<Socket>()
  const received: Buffer[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    socket.on('data', (bytes) => received.push(bytes))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, sockets, received }
}

t.test('fails with Unavailable, without the credentials, and leaves no connection', async (t) => {
  const { port, sockets } = await openSilentPort(t)
  const url = `mongodb://secretuser:secretword@127.0.0.1:${port}/?serverSelectionTimeoutMS=50`
  const error = await connectMongoDB(url).catch((thrown: unknown) => thrown)
  t.ok(error instanceof Unavailable)
  t.match(error, { message: 'The database is not available', cause: { name: /^Mongo/ } })
  t.notMatch(inspect(error, { depth: 20, showHidden: true }), /secret/)
  await until(() => sockets.size === 0)
})

const WRONG_URLS = [
  'secretuser:secretword',
  'mongodb://secretuser:secret@word@127.0.0.1',
  'mongodb://secretuser:secret?word@127.0.0.1',
  'mongodb://secretuser:secret/word@127.0.0.1',
  'mongodb://secretuser:secret%word@127.0.0.1',
  'mongodb://user:secretword/x',
  'mongodb://user:1secretword',
]

for (const url of WRONG_URLS) {
  t.test(`says nothing of what is in a URL that the driver does not take: ${url}`, async (t) => {
    const error = await connectMongoDB(url).catch((thrown: unknown) => thrown)
    t.ok(error instanceof Error)
    t.notOk(error instanceof Unavailable, 'no attempt mends it')
    t.notMatch(inspect(error, { depth: 20, showHidden: true }).replace(/^ +at .*$/gm, ''), /secret/)
  })
}

t.test('leaves the names of options to the driver, whose error says which', async (t) => {
  const options = { maxPoolSise: 5 } as ConnectOptions
  await t.rejects(connectMongoDB('mongodb://a:b@127.0.0.1', options), /maxpoolsise/i)
  await t.rejects(connectMongoDB('mongodb://127.0.0.1/?maxPoolSise=5'), /maxpoolsise/i)
  await t.rejects(
    connectMongoDB(''),
    new TypeError('connectMongoDB: the URL must be a non-empty string'),
  )
  await t.rejects(connectMongoDB(undefined as never), TypeError)
})

t.test('tells the server which version of Remex uses the driver', async (t) => {
  const { version } = JSON.parse(
    readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8'),
  )
  const names: readonly [ConnectOptions, string, string][] = [
    [{}, 'nodejs|Remex', `|${version}`],
    [{ driverInfo: { name: 'shop', version: '9.8.7' } }, 'nodejs|shop', '|9.8.7'],
  ]
  for (const [options, name, end] of names) {
    const { port, received } = await openSilentPort(t)
    const url = `mongodb://127.0.0.1:${port}/?serverSelectionTimeoutMS=50`
    // A slow machine may not have sent it by the time limit: then it is tried again.
    await until(async () => {
      const error = await connectMongoDB(url, options).catch((thrown: unknown) => thrown)
      return error instanceof Unavailable && received.length > 0
    })
    const hello = Buffer.concat(received).toString('latin1')
    t.ok(hello.includes(`\0${name}\0`), name)
    t.ok(hello.includes(`${end}\0`), end)
  }
})

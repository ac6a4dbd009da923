import t from 'tap'
import { Gate } from '../../support/gate.ts'
import { checkPrototypes } from '../../support/http.ts'
import { laterTurns, until } from '../../support/until.ts'
import { startSocketApp } from './socket-app.ts'

t.afterEach(() => checkPrototypes())

const MEGABYTE = 'm'.repeat(2 ** 20)

t.test('SIO-1: a flood of calls over one connection', async (t) => {
  const gate = new Gate()
  const { connect } = await startSocketApp(t, {
    options: { maxCalls: 3 },
    configure: (app) => app.use('slow', { get: async (id: unknown) => gate.pass({ id }) } as never),
  })
  const [flood, other] = [await connect(), await connect()]
  const under = [1, 2, 3].map((id) => flood.call('get', 'slow', id))
  await gate.arrivals(3)
  const refused = await Promise.allSettled(
    Array.from({ length: 500 }, () => flood.call('get', 'slow', 4)),
  )
  t.match(refused[0], { reason: { name: 'TooManyRequests', code: 429 } })
  t.equal(refused.filter(({ status }) => status === 'rejected').length, 500)
  t.equal(gate.arrived, 3)
  t.match(await other.call('get', 'notes', 1), { id: 1 })
  gate.open()
  t.match(await Promise.all(under), [{ id: 1 }, { id: 2 }, { id: 3 }])
  t.match(await flood.call('get', 'slow', 5), { id: 5 })
})

t.test('SIO-2: messages beyond the limit, by WebSocket and by polling', async (t) => {
  const { connect, openRaw, url } = await startSocketApp(t)
  const other = await connect()
  const raw = await openRaw()
  await raw.join()
  const large = Buffer.alloc(100 * 2 ** 20, 'm').toString('latin1')
  raw.send(`2["create","notes",{"a":"${large}"}]`)
  await until(() => !raw.isOpen())
  const polling = `${url}/socket.io/?EIO=4&transport=polling`
  const { sid } = JSON.parse((await (await fetch(polling)).text()).slice(1)) as { sid: string }
  // Without a poll, the end of the connection would wait for one half a minute.
  const polled = fetch(`${polling}&sid=${sid}`).then((answer) => answer.text())
  const sent = fetch(`${polling}&sid=${sid}`, { method: 'POST', body: large })
  const status = await sent.then(
    (answer) => answer.status,
    () => 'closed',
  )
  t.ok(status === 413 || status === 'closed', `${status}`)
  await polled
  t.match(await other.call('get', 'notes', 1), { id: 1 })
})

t.test(
  'SIO-3: messages with 400,000 arguments, which Socket.IO spreads on the stack',
  async (t) => {
    const { connect, openRaw } = await startSocketApp(t)
    const other = await connect()
    for (const message of [
      ['find', ...Array(400_000).fill(0)],
      ['error', ...Array(20_000).fill('')],
    ]) {
      const raw = await openRaw()
      await raw.join()
      raw.send(`2${JSON.stringify(message)}`)
      await until(() => !raw.isOpen())
    }
    const raw = await openRaw()
    await raw.join()
    t.match(await raw.ask(JSON.stringify(['find', 'notes', ...Array(9_000).fill(0)])), [
      { code: 400, message: /Too many arguments/ },
    ])
    t.match(await other.call('get', 'notes', 1), { id: 1 })
  },
)

t.test('SIO-2: messages larger than the limit of JSON bodies', async (t) => {
  const { openRaw } = await startSocketApp(t, { rest: { json: { bodyLimit: 5_000 } } })
  for (const [length, isTaken] of [
    [4_900, true],
    [5_100, false],
  ] as const) {
    const raw = await openRaw()
    await raw.join()
    const asked = raw.ask(`["create","notes",{"a":"${'m'.repeat(length)}"}]`)
    if (isTaken) t.match(await asked, [null, { a: /^m+$/ }])
    else await t.rejects(asked, /was closed/)
  }
})

const BODIES: Readonly<Record<string, readonly [data: string, message: RegExp]>> = {
  '1,000 levels': [`${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`, /nested deeper than 50/],
  '400,000 levels of lists': [`[${'['.repeat(400_000)}${']'.repeat(400_000)}]`, /nested deeper/],
  '20,000 keys': [JSON.stringify({ a: Array(20_000).fill(1) }), /more than 10000 keys/],
  'half a surrogate pair': ['{"a":"\\ud800"}', /not well-formed/],
  'half a surrogate pair as a name': ['{"\\udfff":1}', /not well-formed/],
  __proto__: ['{"__proto__":{"polluted":1}}', /name that is not allowed/],
  'a nested __proto__': ['{"a":[{"b":{"__proto__":{"polluted":1}}}]}', /name that is not allowed/],
  'constructor.prototype': ['{"constructor":{"prototype":{"polluted":1}}}', /is not allowed/],
}

t.test('SIO-4: data and queries that JSON bodies may not have', async (t) => {
  const { openRaw, app } = await startSocketApp(t)
  const raw = await openRaw()
  await raw.join()
  const before = (app.service('notes') as unknown as { calls: number }).calls
  for (const [name, [json, message]] of Object.entries(BODIES)) {
    const error = [{ name: 'BadRequest', code: 400, message }]
    t.match(await raw.ask(`["create","notes",${json}]`), error, `${name} as data`)
    t.match(await raw.ask(`["patch","notes",1,${json},{}]`), error, `${name} as data of patch`)
    t.match(await raw.ask(`["find","notes",${json}]`), error, `${name} as a query`)
    t.match(await raw.ask(`["shout","notes",${json}]`), error, `${name} of a custom method`)
  }
  t.equal((app.service('notes') as unknown as { calls: number }).calls, before)
})

t.test('SIO-5: names of methods that a service does not list', async (t) => {
  const { openRaw } = await startSocketApp(t)
  const raw = await openRaw()
  await raw.join()
  const names = [
    ...['constructor', 'toString', '__proto__', 'hasOwnProperty', 'prototype', 'valueOf'],
    ...['setup', 'teardown', '_find', '_create', 'whisper', 'on', 'emit', 'publish', 'hooks'],
    ...['error', 'newNote', 'FIND', 'find ', '', 'update', 'calls', MEGABYTE.slice(0, 500_000), 7],
  ]
  for (const name of names) {
    const [error] = await raw.ask(JSON.stringify([name, 'notes', {}, {}]))
    t.match(error, { name: 'MethodNotAllowed', code: 405 }, `${name}`.slice(0, 40))
    t.ok(JSON.stringify(error).length < 300, 'the answer does not repeat a long name')
  }
  t.match(await raw.ask('["find","notes",{"a":1}]'), [null, { query: { a: 1 } }])
})

t.test('SIO-6: paths that lead elsewhere, or are no paths', async (t) => {
  const { openRaw } = await startSocketApp(t)
  const raw = await openRaw()
  await raw.join()
  const paths: unknown[] = [
    ...['__proto__', 'constructor', 'a/../notes', '../notes', '%2e%2e', 'notes/%2e%2e/notes'],
    ...[
      'notes/1',
      'notes?a=1',
      'notes#a',
      'notes\\',
      'note%73',
      '\ud800',
      'n\0tes',
      'http://a/notes',
    ],
    ...['', '/', '//', '*', ':id', 'notes;a', '/'.repeat(400_000), 'a/'.repeat(400_000)],
    ...['a'.repeat(900_000), 1, null, true, {}, [], ['notes'], { toString: 'notes' }],
  ]
  for (const path of paths) {
    const [error] = await raw.ask(JSON.stringify(['find', path, {}]))
    const title = `${JSON.stringify(path)}`.slice(0, 40)
    t.match(error, { name: 'NotFound', code: 404 }, title)
    t.ok(JSON.stringify(error).length < 300, title)
  }
})

t.test('SIO-7: values of another type in the place of ids, data, and queries', async (t) => {
  const { openRaw } = await startSocketApp(t)
  const raw = await openRaw()
  await raw.join()
  const rows = [
    ...[{}, [], true, { $ne: null }, null].map((id) => ['get', 'notes', id]),
    ...[{}, [], false, ['a']].map((id) => ['patch', 'notes', id, {}]),
    ...[{}, [1], true].map((id) => ['remove', 'notes', id]),
    ...[1, 'text', null, true].map((data) => ['create', 'notes', data]),
    ...[1, 'a=1', true, [], [{}]].map((query) => ['find', 'notes', query]),
    ...[1, 'a=1', [[]]].map((query) => ['get', 'notes', 1, query]),
    ...[
      ['get', 'notes'],
      ['patch', 'notes', 1],
      ['create', 'notes'],
    ],
    ['find', 'notes', {}, 'no callback'],
    ['get', 'notes', 1, {}, {}, {}],
  ]
  for (const row of rows) {
    const [error] = await raw.ask(JSON.stringify(row))
    t.match(error, { name: 'BadRequest', code: 400 }, JSON.stringify(row))
  }
})

t.test('SIO-8: callbacks that are missing, doubled, or no functions', async (t) => {
  const { connect, openRaw, app } = await startSocketApp(t)
  const raw = await openRaw()
  await raw.join()
  // Without an id nothing is answered; with the same id each message is, once.
  for (const text of [
    '2["find","notes"]',
    '2["nothing"]',
    '2[]',
    '2[7]',
    '2',
    '20',
    '22["x",{}]',
  ]) {
    const one = await openRaw()
    await one.join()
    one.send(text)
  }
  raw.send('27["get","notes",1]')
  raw.send('27["get","notes",2]')
  await until(() => raw.frames.filter((frame) => frame.startsWith('37[')).length === 2)
  const { socket, call } = await connect()
  const answers: unknown[] = []
  const callback = (...values: unknown[]) => void answers.push(values)
  socket.emit('find', 'notes', callback, callback)
  await until(() => answers.length > 0)
  t.match(await call('get', 'notes', 3), { id: 3 })
  t.strictSame(answers, [[null, { query: {} }]])
  t.ok(app)
})

t.test('SIO-9: packets of the protocol that come at the wrong time', async (t) => {
  const { connect, openRaw, app } = await startSocketApp(t)
  const other = await connect()
  const packets = [
    ...['2["find","notes"]', '4{"message":"x"}', '31[]', '9', 'x', '{}', '51-["find"]', '0"x"'],
    ...['0/other,{}', '0/__proto__,{}', '51-["find",{"_placeholder":true,"num":9}]', '599-[]'],
  ]
  for (const packet of packets) {
    const raw = await openRaw()
    raw.send(packet)
    await laterTurns()
    raw.close()
  }
  t.match(await other.call('get', 'notes', 1), { id: 1 })
  await until(() => app.channel('anonymous').length === 1)
})

t.test('SIO-10: many logins at once by one connection', async (t) => {
  const gate = new Gate()
  let logins = 0
  const { openRaw, connect, logIn, app } = await startSocketApp(t, {
    configure: (app) =>
      app.service('authentication').hooks({
        before: {
          create: [
            async ({ data }: { data: { strategy?: string } }) => {
              if (data.strategy !== 'jwt') return
              logins += 1
              await gate.pass()
            },
          ],
        },
      } as never),
  })
  const { accessToken } = await logIn(await connect())
  const raw = await openRaw()
  for (let count = 0; count < 50; count += 1) raw.send(`0${JSON.stringify({ accessToken })}`)
  await until(() => raw.frames.filter((frame) => frame.startsWith('4{')).length === 49)
  t.match(JSON.parse(raw.frames[0]?.slice(1) ?? ''), { data: { code: 429 } })
  t.equal(logins, 1)
  gate.open()
  await until(() => raw.frames.some((frame) => frame.startsWith('0')))
  t.match(await raw.ask('["find","me"]'), [null, { user: {} }])
  t.equal(app.channel('users').length, 2)
  raw.close()
  await until(() => app.channel('users').length === 1)
})

t.test('SIO-11: clients that disconnect during their login stay in no channel', async (t) => {
  const gate = new Gate()
  const { openRaw, connect, logIn, app } = await startSocketApp(t, {
    configure: (app) =>
      app
        .service('authentication')
        .hooks({ after: { create: [async () => gate.pass()] } } as never),
  })
  const gone: object[] = []
  app.on('disconnect', (connection: object) => gone.push(connection))
  const client = await connect()
  const first = logIn(client)
  await gate.arrivals(1)
  gate.open()
  const { accessToken } = await first
  const late = new Gate()
  app.service('authentication').hooks({ after: { create: [async () => late.pass()] } } as never)
  const raw = await openRaw()
  raw.send(`0${JSON.stringify({ accessToken })}`)
  const called = await openRaw()
  await called.join()
  called.send(`21["create","authentication",{"strategy":"jwt","accessToken":"${accessToken}"}]`)
  await late.arrivals(2)
  raw.close()
  called.close()
  await until(() => gone.length === 1 && app.io.engine.clientsCount === 1)
  let logins = 0
  app.on('login', () => {
    logins += 1
  })
  late.open()
  await until(() => logins === 2)
  await laterTurns()
  t.equal(app.channel('users').length, 1)
  t.match(await client.call('find', 'me'), { user: {} })
})

t.test('SIO-12: a client that does not read is disconnected', async (t) => {
  const { openRaw, connect, app } = await startSocketApp(t, {
    options: { maxWaitingBytes: 100_000 },
  })
  const reads = await connect()
  const events = reads.collect('notes created')
  const asks = await openRaw()
  const hears = await openRaw()
  await Promise.all([asks.join(), hears.join()])
  t.equal(app.channel('anonymous').length, 3)
  hears.pause()
  let count = 0
  // The system takes some megabytes for it first.
  while (app.channel('anonymous').length === 3) {
    count += 1
    await app.service('notes').create({ text: MEGABYTE } as never)
    await until(() => events.length === count)
  }
  asks.pause()
  const text = 'm'.repeat(900_000)
  while (app.channel('anonymous').length === 2) {
    asks.send(`21["create","notes",{"text":"${text}"}]`)
    count += 1
    await until(() => events.length >= count || app.channel('anonymous').length < 2)
  }
  t.match(await reads.call('get', 'notes', 1), { id: 1 })
  t.equal(reads.socket.connected, true)
})

t.test('SIO-13: one answer, and one event, may be larger than what may wait', async (t) => {
  const { connect } = await startSocketApp(t, {
    options: { maxWaitingBytes: 1 },
    configure: (app) =>
      app.use('large', { get: async () => ({ text: MEGABYTE.repeat(4) }) } as never),
  })
  const { call, collect } = await connect()
  const events = collect('notes created')
  for (const id of [1, 2]) {
    const { text } = (await call('get', 'large', id)) as { text: string }
    t.equal(text.length, 4 * MEGABYTE.length)
  }
  await call('create', 'notes', { text: 'm'.repeat(500_000) })
  await until(() => events.length === 1)
})

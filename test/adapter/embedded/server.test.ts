import cluster from 'node:cluster'
import { once } from 'node:events'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Document } from 'bson'
import { deserialize, serialize } from 'bson'
import { MongoClient } from 'mongodb'
import t from 'tap'
import type { EmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { laterTurns, until } from '../../support/until.ts'
import { openDatabase } from './open-database.ts'

const OP_MSG = 2013

function toMessage(payload: Buffer, opcode = OP_MSG, length = payload.length + 16): Buffer {
  const head = Buffer.alloc(16)
  head.writeInt32LE(length, 0)
  head.writeInt32LE(1, 4)
  head.writeInt32LE(opcode, 12)
  return Buffer.concat([head, payload])
}

function toSection(body: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32LE(flags, 0)
  return Buffer.concat([head, body])
}

/** Returns the reply to raw bytes, or `closed` where the server hangs up. */
function send(port: number, bytes: Buffer): Promise<Document | 'closed'> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    const chunks: Buffer[] = []
    socket.on('error', reject)
    socket.on('close', () => resolve('closed'))
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      const all = Buffer.concat(chunks)
      if (all.length < 4 || all.length < all.readInt32LE(0)) return
      resolve(deserialize(all.subarray(21)))
      socket.destroy()
    })
  })
}

const ping = serialize({ ping: 1, $db: 'admin' })

t.test('malformed input closes its connection and nothing else:', async (t) => {
  const server = await startEmbeddedMongo()
  t.teardown(() => server.close())
  const port = Number(new URL(server.url).port)
  const cases: readonly (readonly [title: string, bytes: Buffer])[] = [
    ['bytes of HTTP', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['a length below that of the header', toMessage(Buffer.alloc(0), OP_MSG, 8)],
    ['a length above the limit', toMessage(Buffer.alloc(0), OP_MSG, 48_000_001)],
    ['a negative length', toMessage(Buffer.alloc(0), OP_MSG, -1)],
    ['an unknown opcode', toMessage(toSection(ping), 4242)],
    ['a compressed message', toMessage(toSection(ping), 2012)],
    ['an unknown required flag', toMessage(toSection(ping, 8))],
    ['no section', toMessage(Buffer.alloc(4))],
    [
      'a section of an unknown kind',
      toMessage(Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), ping])),
    ],
    ['a section that is cut off', toMessage(toSection(ping.subarray(0, 10)))],
    [
      'a sequence named __proto__',
      toMessage(
        Buffer.concat([toSection(ping), Buffer.from([1, 14, 0, 0, 0]), Buffer.from('__proto__\0')]),
      ),
    ],
    ['an OP_QUERY that is cut off', toMessage(Buffer.alloc(6), 2004)],
  ]
  for (const [title, bytes] of cases) {
    await t.test(title, async (t) => t.equal(await send(port, bytes), 'closed'))
  }
  t.match(await send(port, toMessage(toSection(ping))), { ok: 1 }, 'and the server goes on')
})

t.test('well-framed nonsense is answered with an error:', async (t) => {
  const server = await startEmbeddedMongo()
  t.teardown(() => server.close())
  const port = Number(new URL(server.url).port)
  const run = (command: Document) => send(port, toMessage(toSection(serialize(command))))

  await t.test('corrupt BSON', async (t) => {
    const corrupt = Buffer.from(ping)
    corrupt[4] = 0x7e
    t.match(await send(port, toMessage(toSection(corrupt))), { ok: 0, code: 22 })
  })
  await t.test('names that objects inherit', async (t) => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const command = JSON.parse(`{"${name}": 1, "$db": "x"}`)
      t.match(await run(command), { ok: 0, code: 59, codeName: 'CommandNotFound' })
    }
  })
  await t.test('documents nested too deeply', async (t) => {
    let document: Document = {}
    for (let depth = 0; depth < 500; depth += 1) document = { d: document }
    t.match(await run({ insert: 'c', documents: [document], $db: 'x' }), { ok: 0, code: 15 })
  })
  await t.test('authentication and other commands that are not here', async (t) => {
    for (const name of ['saslStart', 'mapReduce', 'explain', 'collMod', 'configureFailPoint']) {
      const reply = await run({ [name]: 1, $db: 'x' })
      t.match(reply, { ok: 0, code: 59, errmsg: /not supported by the embedded server/ })
    }
  })
  await t.test('options that would have no effect', async (t) => {
    t.match(await run({ find: 'c', tailable: true, $db: 'x' }), { ok: 0, code: 72 })
  })
})

t.test('a message may come in pieces, and several at once', async (t) => {
  const server = await startEmbeddedMongo()
  t.teardown(() => server.close())
  const message = toMessage(toSection(ping))
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  t.teardown(() => socket.destroy())
  let received = 0
  const whole = new Promise((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
      if (received > 3 * 80) resolve(received)
    })
  })
  for (const byte of message) socket.write(Buffer.from([byte]))
  socket.write(Buffer.concat([message, message]))
  await whole
  t.pass('all were answered')
})

t.test('a regular expression cannot stop the process', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('regex')
  await collection.insertOne({ text: `${'a'.repeat(40)}!` })
  const timer = { code: 50, codeName: 'MaxTimeMSExpired' }
  const regex = '^(a+)+$'
  await t.rejects(collection.find({ text: { $regex: regex } }).toArray(), timer)
  const late = [{ $skip: 0 }, { $match: { text: { $regex: regex } } }]
  await t.rejects(collection.aggregate(late, { maxTimeMS: 50 }).toArray(), timer)
  await t.rejects(
    collection.updateOne({ text: { $regex: regex } }, { $set: { a: 1 } }, { maxTimeMS: 50 }),
    timer,
  )
  const pull = { $pull: { list: { $regex: regex } } } as Document
  await collection.updateOne({}, { $set: { list: [`${'a'.repeat(40)}!`] } })
  await t.rejects(collection.updateOne({}, pull), timer)
  await t.rejects(collection.deleteOne({ text: { $regex: regex } }), timer)
  await database.createCollection('a'.repeat(40))
  await t.rejects(database.listCollections({ name: { $regex: '^(a+)+!$' } }).toArray(), timer)
  t.equal(await collection.countDocuments({ text: /!$/ }), 1)
})

t.test('the process goes on while a command computes', async (t) => {
  const database = await openDatabase(t)
  await database.collection('regex').insertOne({ text: `${'a'.repeat(40)}!` })
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  // It computes until its time is over, however fast the machine is.
  await t.rejects(database.collection('regex').findOne({ text: { $regex: '^(a+)+$' } }), {
    code: 50,
  })
  isOver = true
  t.ok(turns > 200, `${turns} turns`)
})

t.test('a server that fails ends its connections, and the process goes on', async (t) => {
  const started = once(process, 'worker')
  const server = await startEmbeddedMongo()
  const [thread] = (await started) as [Worker]
  const client = new MongoClient(server.url)
  t.teardown(() => client.close())
  await client.db('x').command({ ping: 1 })
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  await once(socket, 'connect')
  const isClosed = new Promise((resolve) => socket.on('error', resolve).on('close', resolve))
  const warned = once(process, 'warning')
  thread.emit('error', new Error('out of memory'))
  t.match(await warned, [{ message: 'The embedded server has ended: out of memory' }])
  await thread.terminate()
  // A command that the driver sends before it notices the end of its connection may never settle.
  socket.resume()
  await isClosed
  await laterTurns()
  await t.rejects(client.db('x').command({ ping: 1 }, { timeoutMS: 100 }))
  await server.close()
})

t.test('it starts in a thread too', async (t) => {
  const thread = new Worker(new URL('server-thread.js', import.meta.url))
  const [[answer]] = await Promise.all([once(thread, 'message'), once(thread, 'exit')])
  t.match(answer, { ok: 1 })
})

t.test('no field name reaches the prototype of objects', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('proto')
  const hostile = JSON.parse(
    '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}',
  )
  await collection.insertOne({ a: hostile })
  await collection.updateOne(
    {},
    {
      $set: {
        'a.__proto__.polluted': 2,
        'b.__proto__.polluted': 2,
        'constructor.prototype.polluted': 2,
      },
    },
  )
  await collection.aggregate([{ $set: { c: hostile } }]).toArray()
  const stored = await collection.findOne()
  t.equal(JSON.stringify(stored?.['b']), '{"__proto__":{"polluted":2}}')
  t.notOk('polluted' in {})
})

t.test('listening', async (t) => {
  await t.test('uses the port it is given, on 127.0.0.1 only', async (t) => {
    const first = await startEmbeddedMongo()
    const port = Number(new URL(first.url).port)
    await t.rejects(startEmbeddedMongo({ port }), { code: 'EADDRINUSE' })
    await first.close()
    const again = (): Promise<EmbeddedMongo> => startEmbeddedMongo({ port })
    // In between somebody else may have got the port, and leaves it again.
    let second: EmbeddedMongo | undefined
    await until(async () => (second = await again().catch(() => undefined)))
    t.equal(second?.url, `mongodb://127.0.0.1:${port}/?replicaSet=rs0`)
    await second?.close()
    await second?.close()
  })
  await t.test('refuses options it does not know, above all a host', async (t) => {
    const cases: readonly (readonly [options: object, message: string])[] = [
      [
        { host: '0.0.0.0' },
        "unknown option 'host', allowed are port, maxBytes, directory, allowProduction",
      ],
      [
        { path: '/tmp/mongo.sock' },
        "unknown option 'path', allowed are port, maxBytes, directory, allowProduction",
      ],
      [{ port: -1 }, "the option 'port' must be a whole number from 0 to 65535"],
      [{ port: '27017' }, "the option 'port' must be a whole number from 0 to 65535"],
      [{ maxBytes: 0 }, "the option 'maxBytes' must be a whole number of at least 1"],
      [{ directory: '' }, "the option 'directory' must be a non-empty string"],
      [{ allowProduction: 'yes' }, "the option 'allowProduction' must be a boolean"],
    ]
    for (const [options, message] of cases) {
      const expected = new TypeError(`startEmbeddedMongo(): ${message}`)
      await t.rejects(startEmbeddedMongo(options), expected)
    }
  })
  await t.test('refuses to start in production unless it is told to', async (t) => {
    const { NODE_ENV } = process.env
    t.teardown(() => {
      if (NODE_ENV === undefined) delete process.env['NODE_ENV']
      else process.env['NODE_ENV'] = NODE_ENV
    })
    process.env['NODE_ENV'] = 'production'
    const message =
      "startEmbeddedMongo(): it is for development and tests, and NODE_ENV is 'production': connect " +
      'to MongoDB, or set the option allowProduction to true'
    await t.rejects(startEmbeddedMongo(), new TypeError(message))
    await t.rejects(startEmbeddedMongo({ allowProduction: false }), new TypeError(message))
    const server = await startEmbeddedMongo({ allowProduction: true })
    await server.close()
  })
  await t.test('is left to the primary of a cluster: its workers would share a port', async (t) => {
    const server = await startEmbeddedMongo()
    t.teardown(() => server.close())
    const exec = fileURLToPath(new URL('cluster-worker.js', import.meta.url))
    cluster.setupPrimary({ exec, args: [] })
    const workers = [cluster.fork({ url: server.url }), cluster.fork({ url: server.url })]
    const answers = workers.map(async (worker) => {
      const [[answer]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')])
      return answer
    })
    const message =
      'startEmbeddedMongo(): cannot run in a node:cluster worker, as each worker would have its own ' +
      "database: start it once, in the primary, and give the 'url' to the workers"
    const refusal = { name: 'TypeError', message }
    t.strictSame(await Promise.all(answers), [refusal, refusal])
    const client = new MongoClient(server.url)
    t.teardown(() => client.close())
    t.equal(await client.db('x').collection('c').countDocuments(), 40)
  })
  await t.test('ends at once although clients are connected', async (t) => {
    const server = await startEmbeddedMongo()
    const client = new MongoClient(server.url)
    t.teardown(() => client.close())
    await client.db('x').command({ ping: 1 })
    await server.close()
    await t.rejects(client.db('x').command({ ping: 1 }, { timeoutMS: 100 }))
  })
})

t.test('a message that wants no reply gets none, be it done or refused', async (t) => {
  const server = await startEmbeddedMongo()
  t.teardown(() => server.close())
  const port = Number(new URL(server.url).port)
  const moreToCome = 2
  const quiet = (body: Document): Buffer => toMessage(toSection(serialize(body), moreToCome))
  const insert = { insert: 'c', documents: [{ _id: 1 }], $db: 'x', writeConcern: { w: 0 } }
  const count = toMessage(toSection(serialize({ count: 'c', $db: 'x' })))
  const messages = [quiet(insert), quiet(insert), quiet({ nope: 1, $db: 'x' }), count]
  t.match(
    await send(port, Buffer.concat(messages)),
    { n: 1, ok: 1 },
    'the count is the first reply',
  )
})

t.test('commands of a client that does not read its replies wait', async (t) => {
  const server = await startEmbeddedMongo()
  t.teardown(() => server.close())
  const port = Number(new URL(server.url).port)
  const run = (body: Document) => send(port, toMessage(toSection(serialize({ ...body, $db: 'x' }))))
  const text = 'x'.repeat(1_000_000)
  await run({ insert: 'c', documents: [{ _id: 1, n: 0, text }] })
  const socket = connect(port, '127.0.0.1').pause()
  t.teardown(() => socket.destroy())
  // Each reply has a megabyte, and no system holds back so many of them.
  const change = { findAndModify: 'c', update: { $inc: { n: 1 } }, $db: 'x' }
  const message = toMessage(toSection(serialize(change)))
  socket.write(Buffer.concat(Array.from({ length: 500 }, () => message)))
  for (let count = 0; count < 100; count += 1) await run({ ping: 1 })
  const reply = await run({ find: 'c', projection: { n: 1 } })
  const { n } = reply === 'closed' ? {} : reply['cursor'].firstBatch[0]
  t.ok(n < 500, `${n} of 500 were done`)
})

t.test('an unacknowledged write is done without a reply', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('unacknowledged')
  await collection.insertOne({ a: 1 }, { writeConcern: { w: 0 } })
  t.equal(await collection.countDocuments(), 1)
})

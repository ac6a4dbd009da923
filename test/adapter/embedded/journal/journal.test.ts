import { fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Document } from 'mongodb'
import {
  Binary,
  BSONRegExp,
  DBRef,
  Decimal128,
  Long,
  MaxKey,
  MinKey,
  MongoClient,
  ObjectId,
  Timestamp,
} from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { Dispatcher } from '../../../../src/adapter/embedded/dispatch.ts'
import { startEmbeddedMongo } from '../../../../src/adapter/embedded/index.ts'
import { Journal } from '../../../../src/adapter/embedded/journal/journal.ts'
import { Store } from '../../../../src/adapter/embedded/storage/store.ts'

/** A document whose id the test chooses. */
type Item = { _id?: string | number; [field: string]: unknown }

const FILE = 'journal-v1'

function createFolder(t: Test): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'remex-journal-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true }))
  return folder
}

/** Starts a server in a folder, lets `use` do something, and ends it. */
async function withServer<Result>(
  directory: string,
  use: (client: MongoClient) => Promise<Result>,
): Promise<Result> {
  const server = await startEmbeddedMongo({ directory })
  const client = new MongoClient(server.url)
  try {
    return await use(client)
  } finally {
    await client.close()
    await server.close()
  }
}

/** Returns what runs commands on the data of a folder in this thread. */
function openJournal(directory: string) {
  const store = new Store()
  const journal = new Journal(directory, store)
  const dispatcher = new Dispatcher('127.0.0.1:1', () => 0, store)
  return {
    run: (command: Document) => dispatcher.run(() => ({ ...command, $db: 'x' })),
    close: () => dispatcher.close(),
    end: () => journal.close(),
  }
}

/** Returns the ids that the journal of a folder has. */
async function readIds(t: Test, directory: string): Promise<unknown[]> {
  const { run, close } = openJournal(directory)
  t.teardown(close)
  const { cursor } = await run({ find: 'c', projection: { _id: 1 } })
  return cursor.firstBatch.map(({ _id }: Document) => _id)
}

t.test('what was written is there after a restart, as it was', async (t) => {
  const directory = join(createFolder(t), 'a/b')
  const values = {
    _id: new ObjectId(),
    decimal: Decimal128.fromString('1.10'),
    long: Long.MAX_VALUE,
    large: 2 ** 40,
    double: -0.5,
    zero: -0,
    binary: new Binary(Buffer.from('bytes'), 5),
    uuid: new Binary(Buffer.alloc(16, 7), 4),
    date: new Date(12_345),
    timestamp: new Timestamp({ t: 5, i: 6 }),
    regex: new BSONRegExp('^a', 'i'),
    keys: [new MinKey(), new MaxKey()],
    reference: new DBRef('words', new ObjectId()),
    nested: { null: null, list: [[], {}, [1, 'two', true]] },
    ...JSON.parse('{"__proto__": {"a": 1}}'),
  }
  const look = async (client: MongoClient) => {
    const database = client.db('x')
    const collections = await database.listCollections().toArray()
    const names = collections.map(({ name }) => name).sort()
    const path = { 'reference.$ref': 'words' }
    return {
      referring: await Promise.all(
        names.map((name) => database.collection(name).countDocuments(path)),
      ),
      collections: collections.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      documents: await Promise.all(
        names.map((name) => database.collection(name).find({}, { bsonRegExp: true }).toArray()),
      ),
      indexes: await Promise.all(names.map((name) => database.collection(name).indexes())),
    }
  }
  const before = await withServer(directory, async (client) => {
    const database = client.db('x')
    await database.createCollection('empty')
    await database.createCollection('gone')
    await database.dropCollection('gone')
    const words = await database.createCollection<Item>('words', {
      collation: { locale: 'en', strength: 2 },
    })
    await words.insertMany([{ _id: 'b' }, { _id: 'C' }, { _id: 'a' }, { _id: 'd' }])
    await words.replaceOne({ _id: 'B' }, { n: 1 })
    await words.deleteOne({ _id: 'A' })
    await words.insertOne({ _id: 'a' })
    const dotted = database.collection('values.of.types')
    await dotted.insertOne(values)
    await dotted.createIndex({ date: 1 }, { expireAfterSeconds: 2 ** 31 - 1, name: 'expiry' })
    await dotted.createIndex(
      { 'nested.list': -1, double: 1 },
      { unique: true, partialFilterExpression: { double: { $lt: 0 } } },
    )
    await dotted.createIndex({ text: 'text' }, { default_language: 'none' })
    await dotted.createIndex({ left: 1 })
    await dotted.dropIndex('left_1')
    await words.aggregate([{ $out: 'copy' }]).toArray()
    await words.aggregate([{ $match: { _id: 'd' } }, { $out: 'copy' }]).toArray()
    return look(client)
  })
  t.equal(fs.statSync(directory).mode & 0o777, 0o700)
  t.strictSame(fs.readdirSync(directory), [FILE])
  const after = await withServer(directory, async (client) => {
    await t.rejects(client.db('x').collection<Item>('words').insertOne({ _id: 'D' }), {
      code: 11000,
    })
    return look(client)
  })
  t.strictSame(after, before)
  t.match(before.documents[3], [{ _id: 'b', n: 1 }, { _id: 'C' }, { _id: 'd' }, { _id: 'a' }])
})

t.test('a transaction is there as a whole or not at all', async (t) => {
  const directory = createFolder(t)
  await withServer(directory, async (client) => {
    const collection = client.db('x').collection<Item>('c')
    await collection.insertOne({ _id: 0 })
    const session = client.startSession()
    session.startTransaction()
    await collection.insertOne({ _id: 1 }, { session })
    await session.abortTransaction()
    session.startTransaction()
    await collection.insertOne({ _id: 2 }, { session })
    await collection.deleteOne({ _id: 0 }, { session })
    await session.commitTransaction()
    session.startTransaction()
    await collection.insertOne({ _id: 3 }, { session })
    fs.copyFileSync(join(directory, FILE), join(directory, 'copy'))
    await session.endSession()
  })
  const copy = createFolder(t)
  const bytes = fs.readFileSync(join(directory, 'copy'))
  fs.writeFileSync(join(copy, FILE), bytes)
  t.strictSame(await readIds(t, copy), [2])
  // The last record is that of the transaction.
  fs.writeFileSync(join(copy, FILE), bytes.subarray(0, -1))
  t.strictSame(await readIds(t, copy), [0])
})

/** Returns a file of five commits, and where the last one begins. */
async function writeCommits(t: Test): Promise<{ readonly bytes: Buffer; readonly last: number }> {
  const directory = createFolder(t)
  const path = join(directory, FILE)
  const { run, close } = openJournal(directory)
  for (let _id = 0; _id < 4; _id += 1) await run({ insert: 'c', documents: [{ _id }] })
  const last = fs.statSync(path).size
  await run({ insert: 'c', documents: [{ _id: 4 }, { _id: 5 }] })
  close()
  return { bytes: fs.readFileSync(path), last }
}

t.test('a last record that is cut anywhere is left out, and said', async (t) => {
  const { bytes, last } = await writeCommits(t)
  const warnings: unknown[] = []
  const { emitWarning } = process
  t.teardown(() => Object.assign(process, { emitWarning }))
  Object.assign(process, { emitWarning: (warning: unknown) => warnings.push(warning) })
  const directory = createFolder(t)
  for (let end = last; end < bytes.length; end += 1) {
    fs.writeFileSync(join(directory, FILE), bytes.subarray(0, end))
    t.strictSame(await readIds(t, directory), [0, 1, 2, 3], `${end} bytes`)
    t.equal(fs.statSync(join(directory, FILE)).size, last)
  }
  fs.writeFileSync(join(directory, FILE), bytes)
  t.strictSame(await readIds(t, directory), [0, 1, 2, 3, 4, 5])
  t.equal(warnings.length, bytes.length - last - 1)
  t.match(warnings[0], /journal-v1' ended with an incomplete write, which is cut off/)
})

t.test('a changed byte anywhere is refused, with the file and the place', async (t) => {
  const { bytes, last } = await writeCommits(t)
  const directory = createFolder(t)
  const path = join(directory, FILE)
  for (let at = 0; at < bytes.length; at += 1) {
    const damaged = Buffer.from(bytes)
    damaged[at] = (damaged[at] ?? 0) ^ 0x10
    fs.writeFileSync(path, damaged)
    const pattern = at < last ? /journal-v1' is damaged at byte \d+: / : `damaged at byte ${last}: `
    t.throws(() => openJournal(directory), { message: pattern }, `byte ${at}`)
  }
  const damaged = Buffer.from(bytes)
  damaged[20] = (damaged[20] ?? 0) ^ 1
  fs.writeFileSync(path, damaged)
  await t.rejects(startEmbeddedMongo({ directory }), {
    message:
      `startEmbeddedMongo(): the file '${path}' is damaged at byte 0: bring back a copy of it, or ` +
      'cut it off there, which loses all later changes',
  })
  t.strictSame(fs.readdirSync(directory), [FILE], 'the folder is free again')
})

/** Starts a server in a process of its own. */
async function startProcess(t: Test, directory: string) {
  const child = fork(fileURLToPath(new URL('server-process.js', import.meta.url)), [directory])
  const ended = once(child, 'exit')
  t.teardown(() => child.kill('SIGKILL'))
  const [answer] = (await once(child, 'message')) as [{ url?: string; message?: string }]
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  return { ...answer, kill, gone: ended }
}

t.test('a killed process has kept all that it acknowledged with j: true', async (t) => {
  const early = () => ({ count: 250, most: Math.ceil(Math.random() * 250) })
  for (const { count, most } of [early(), early(), early(), { count: 2_000, most: 1_000 }]) {
    const directory = createFolder(t)
    const { url = '', kill, gone } = await startProcess(t, directory)
    const client = new MongoClient(url, { retryWrites: false })
    const writeConcern = { w: 1, j: true }
    const collection = client.db('x').collection<Item>('c', { writeConcern })
    const acknowledged: number[] = []
    // Several at a time, so that some are on their way when the process is killed.
    const inserts = Array.from({ length: count }, async (_, _id) => {
      await collection.insertOne({ _id })
      acknowledged.push(_id)
      if (acknowledged.length === most) await kill()
    })
    const all = Promise.allSettled(inserts)
    await gone
    await client.close()
    await all
    t.ok(acknowledged.length >= most, `${acknowledged.length} were acknowledged`)
    const kept = await withServer(directory, (client) =>
      client.db('x').collection<Item>('c').find().toArray(),
    )
    const ids = new Set(kept.map(({ _id }) => _id))
    t.strictSame(
      acknowledged.filter((_id) => !ids.has(_id)),
      [],
    )
  }
})

t.test('one server uses a folder, and a process that has ended leaves it', async (t) => {
  const directory = createFolder(t)
  const first = await startProcess(t, directory)
  const refusal =
    /a server already uses the directory '.*': give its 'url' to this process, or remove/
  await t.rejects(startEmbeddedMongo({ directory }), { message: refusal })
  await first.kill()
  const server = await startEmbeddedMongo({ directory })
  await t.rejects(startEmbeddedMongo({ directory }), { message: refusal })
  t.match((await startProcess(t, directory)).message, refusal)
  await server.close()
  // The id of a process that has ended may belong to another one by now.
  fs.writeFileSync(join(directory, `lock-${process.ppid}-1`), '')
  if (process.platform === 'linux') await withServer(directory, async () => undefined)
  else await t.rejects(startEmbeddedMongo({ directory }), { message: refusal })
})

t.test('a disk that refuses a write is told, and the write is made up for', async (t) => {
  const directory = createFolder(t)
  const { run, close, end } = openJournal(directory)
  t.teardown(close)
  const { writevSync, fdatasyncSync } = fs
  const restore = (): void => {
    Object.assign(fs, { writevSync, fdatasyncSync })
    syncBuiltinESMExports()
  }
  const break_ = (broken: object): void => {
    Object.assign(fs, broken)
    syncBuiltinESMExports()
  }
  t.teardown(restore)
  const insert = (_id: number) =>
    run({ insert: 'c', documents: [{ _id }], writeConcern: { j: true } })
  const refused = { ok: 0, code: 14031, codeName: 'OutOfDiskSpace', errmsg: /Cannot write to '/ }
  t.match(await insert(0), { ok: 1 })
  break_({
    writevSync: (file: number, [header]: Uint8Array[]) =>
      fs.writeSync(file, header ?? Buffer.alloc(0)),
  })
  t.match(await insert(1), refused, 'a part of it was written')
  t.match(await insert(2), refused)
  t.match(await run({ find: 'c' }), refused, 'nobody reads what may be lost')
  t.match(await run({ hello: 1 }), { ok: 1 })
  fs.copyFileSync(join(directory, FILE), join(directory, 'copy'))
  restore()
  t.match(await insert(3), { ok: 1 })
  break_({
    fdatasyncSync: () => {
      throw new Error('EIO: i/o error')
    },
  })
  t.match(await insert(4), { ...refused, errmsg: /EIO: i\/o error/ })
  restore()
  t.match(await insert(5), { ok: 1 })
  const other = createFolder(t)
  fs.copyFileSync(join(directory, FILE), join(other, FILE))
  t.strictSame(await readIds(t, other), [0, 1, 3, 4, 5])
  fs.renameSync(join(directory, 'copy'), join(other, FILE))
  t.strictSame(await readIds(t, other), [0], 'killed meanwhile')
  end()
})

t.test('a snapshot takes the place of what was overwritten', async (t) => {
  const directory = createFolder(t)
  const path = join(directory, FILE)
  const { run, close, end } = openJournal(directory)
  t.teardown(close)
  await run({ insert: 'c', documents: [{ _id: 0 }, { _id: 1 }] })
  const text = 'x'.repeat(1_000_000)
  for (let n = 0; n < 20; n += 1) {
    await run({ update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { n, text } } }] })
  }
  t.ok(fs.statSync(path).size < 15_000_000, `${fs.statSync(path).size} bytes`)
  const copy = createFolder(t)
  fs.copyFileSync(path, join(copy, FILE))
  t.strictSame(await readIds(t, copy), [0, 1])
  end()
  t.ok(fs.statSync(path).size < 1_100_000)
  t.strictSame(await readIds(t, directory), [0, 1])
})

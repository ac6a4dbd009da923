import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MongoNetworkError, MongoServerError, ObjectId } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import type { FileServiceOptions, FileStorage } from '../../../src/adapter/files/index.ts'
import { diskStorage, FileService, gridFSStorage } from '../../../src/adapter/files/index.ts'
import { SignedLinks } from '../../../src/adapter/files/signed-links.ts'
import { MongoDBService, softDelete, transaction } from '../../../src/adapter/index.ts'
import type { AnyApplication, Logger } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'

const { db, empty, commandsOf } = await openDatabase(t)

const COLLECTIONS = ['files', 'files.files', 'files.chunks', 'files.pending', 'notes']

t.beforeEach(async () => {
  await Promise.all(COLLECTIONS.map(empty))
})

/** How much there is of each file: its record, what GridFS has, and the notes about it. */
const count = () =>
  Promise.all(COLLECTIONS.slice(0, 4).map((name) => db.collection(name).countDocuments()))

const NOTHING = [0, 0, 0, 0]
const ONE = [1, 1, 1, 0]

interface Started {
  readonly app: AnyApplication
  readonly files: FileService
  readonly warned: unknown[]
}

async function start(
  t: Test,
  options: Partial<FileServiceOptions> = {},
  hooks: object = {},
): Promise<Started> {
  const warned: unknown[] = []
  const app = createApp<Record<string, object>>()
  app.logger = { ...console, warn: (details: unknown) => warned.push(details) } as unknown as Logger
  const files = new FileService({ Model: db.collection('files'), ...options })
  app.use('files', files)
  app.use('notes', new MongoDBService({ Model: db.collection('notes') }))
  app.service('files').hooks(hooks as never)
  await app.setup()
  t.teardown(() => app.teardown())
  return { app, files, warned }
}

const external = { provider: 'rest' }

async function read(files: FileService, id: unknown, from = 0, to?: number): Promise<Buffer> {
  const file = await files.openFile(String(id))
  const parts: Uint8Array[] = []
  for await (const part of file.read(from, to ?? file.size)) parts.push(part)
  return Buffer.concat(parts)
}

const bytes = Buffer.from(Array.from({ length: 700_000 }, (_, index) => (index * 7) % 253))

async function* inParts(size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

t.test('stores the upload of an internal call', async (t) => {
  const { files } = await start(t)
  const upload = { content: inParts(10_007), type: 'application/x-bytes', name: 'a/b.bin' }
  const record = await files.create({}, { upload })
  const hash = createHash('sha256').update(bytes).digest('hex')
  const facts = { name: 'b.bin', type: 'application/x-bytes', size: 700_000, hash }
  t.strictSame(record, { _id: record['_id'], ...facts })
  t.ok((await read(files, record['_id'])).equals(bytes))
  const whole = await files.create({ name: 'c' }, { upload: { content: bytes } })
  t.match(whole, { name: 'c', size: 700_000, hash, type: 'application/octet-stream' })
  t.strictSame(await count(), [2, 2, 6, 0])
  await files.remove(record['_id'] as ObjectId)
  await files.remove(String(whole['_id']))
  t.strictSame(await count(), NOTHING)
})

for (const [name, open] of Object.entries<(t: Test) => FileStorage>({
  GridFS: () => gridFSStorage(db, { bucketName: 'files' }),
  disk: (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'remex-files-'))
    t.teardown(() => rm(directory, { recursive: true }))
    return diskStorage({ directory: join(directory, 'inner') })
  },
})) {
  t.test(`${name}: returns any part of what was stored, until it is removed`, async (t) => {
    const storage = open(t)
    const id = new ObjectId().toHexString()
    await storage.write(id, inParts(65_536))
    const get = async (start: number, end: number) => {
      const parts: Uint8Array[] = []
      for await (const part of storage.read(id, start, end)) parts.push(part)
      return Buffer.concat(parts)
    }
    const chunk = 255 * 1_024
    const places = [0, 1, chunk - 1, chunk, chunk + 1, 2 * chunk, 699_999, 700_000]
    for (const start of places) {
      for (const end of places.filter((place) => place >= start)) {
        t.ok((await get(start, end)).equals(bytes.subarray(start, end)), `${start} to ${end}`)
      }
    }
    await storage.remove(id)
    await t.rejects(get(0, 1))
    await storage.remove(id)
    const broken = new ObjectId().toHexString()
    const fail = async function* () {
      yield bytes.subarray(0, 300_000)
      throw new Error('broken off')
    }
    await t.rejects(storage.write(broken, fail()), { message: 'broken off' })
    await storage.remove(broken)
    t.strictSame((await count()).slice(1), [0, 0, 0])
  })
}

t.test('GridFS: reads a large file part by part', async (t) => {
  const storage = gridFSStorage(db, { bucketName: 'files' })
  const id = new ObjectId().toHexString()
  const large = Buffer.concat(Array.from({ length: 7 }, () => bytes))
  await storage.write(id, [large] as never)
  // Where one part ends and the next begins.
  const border = 8 * 255 * 1_024
  const places = [0, 1, border - 1, border, border + 1, 2 * border, large.length]
  for (const start of places) {
    const parts: Uint8Array[] = []
    for await (const part of storage.read(id, start, large.length)) parts.push(part)
    t.ok(Buffer.concat(parts).equals(large.subarray(start)), `from ${start}`)
  }
  const names = async () => {
    for await (const _part of storage.read(id, 5, border + 5)) await Promise.resolve()
  }
  const finds = (await commandsOf(names)).filter((command) => 'find' in command)
  t.equal(finds.filter(({ find }) => find === 'files.chunks').length, 2)
})

t.test('keeps bytes on disk, and nothing of what was refused or removed', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'remex-files-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const { files } = await start(t, { storage: diskStorage({ directory }), maxBytes: 700_000 })
  const list = async () =>
    (await readdir(directory, { recursive: true })).filter((name) => name.length > 3)
  const record = await files.create({ name: 'a' }, { upload: { content: bytes } })
  t.ok((await read(files, record['_id'], 5, 600_000)).equals(bytes.subarray(5, 600_000)))
  t.match(await list(), [new RegExp(`${record['_id']}$`)])
  const larger = Buffer.alloc(700_001)
  await t.rejects(files.create({ name: 'b' }, { upload: { content: larger } }), { code: 413 })
  t.equal((await list()).length, 1)
  await files.remove(String(record['_id']))
  t.strictSame(await list(), [])
  t.strictSame(await count(), NOTHING)
})

t.test('an after hook that fails takes the file back, in internal calls too', async (t) => {
  const refuse = ({ data }: { data: { name: string } }) => {
    if (data.name === 'bad') throw new Error('no')
  }
  const { files } = await start(t, {}, { after: { create: [refuse] } })
  const create = (name: string) => files.create({ name }, { upload: { content: bytes } })
  await create('good')
  await t.rejects(create('bad'), { message: 'no' })
  t.strictSame(await count(), [1, 1, 3, 0])
})

t.test('FILE-6: a hook of the application that fails takes the file back', async (t) => {
  const { app, files } = await start(t)
  const refuse = ({ path, data }: { path: string; data: { name: string } }) => {
    if (path === 'files' && data.name === 'bad') throw new Error('no')
  }
  app.hooks({ after: { create: [refuse as never] } })
  const create = (name: string) => files.create({ name }, { upload: { content: bytes } })
  await create('good')
  await t.rejects(create('bad'), { message: 'no' })
  await app.service('notes').create({ name: 'bad' })
  t.strictSame(await count(), [1, 1, 3, 0])
})

t.test('a call that an error hook has saved keeps no bytes', async (t) => {
  const save = (context: { result: unknown }) => {
    context.result = { saved: true }
  }
  const { files } = await start(t, { types: ['image/*'] }, { error: { create: [save] } })
  const upload = { content: bytes, type: 'text/plain' }
  t.strictSame(await files.create({ name: 'a' }, { upload }), { saved: true } as never)
  t.strictSame(await count(), NOTHING)
})

t.test('FILE-12: an upload cannot be part of a transaction, which may run twice', async (t) => {
  const { app, files } = await start(t)
  const uploads = [{ content: bytes }, { content: inParts(10_007) }, { token: 'unused' }]
  for (const upload of uploads) {
    for (const params of [{}, external]) {
      let runs = 0
      const write = transaction(app, async () => {
        runs += 1
        await app.service('notes').create({ text: 'a' })
        await files.create({ name: 'a' }, { upload, ...params })
        if (runs > 1) return
        const errorLabels = ['TransientTransactionError']
        throw new MongoServerError({ message: 'again', code: 112, errorLabels })
      })
      await t.rejects(write, { message: /cannot be part of a transaction/ })
    }
  }
  const session = db.client.startSession()
  t.teardown(() => session.endSession())
  session.startTransaction()
  const given = { upload: { content: bytes }, docdb: { session } }
  await t.rejects(files.create({ name: 'a' }, given), { message: /cannot be part/ })
  t.strictSame(await count(), NOTHING)
})

t.test('FILE-12: a stream that was read before is no empty file', async (t) => {
  const { files } = await start(t)
  const create = (content: Uint8Array | AsyncIterable<Uint8Array>) =>
    files.create({ name: 'a' }, { upload: { content } })
  const content = inParts(10_007)
  await create(content)
  await t.rejects(create(content), {
    message: 'The content of an upload can be read only once',
  })
  t.strictSame(await count(), [1, 1, 3, 0])
  await create(bytes)
  await create(bytes)
  t.strictSame(await count(), [3, 3, 9, 0])
})

t.test('FILE-12: a storage that stops reading stores no part of a file', async (t) => {
  const inner = gridFSStorage(db, { bucketName: 'files' })
  const write = async (id: string, content: AsyncIterable<Uint8Array>) => {
    for await (const part of content) {
      await inner.write(id, [part] as never)
      return
    }
  }
  const { files } = await start(t, { storage: { ...inner, write } })
  for (const size of [10, 300_000]) {
    const content = bytes.subarray(0, size)
    await t.rejects(files.create({ name: 'a' }, { upload: { content } }), {
      message: 'The storage has not read the whole content of a file',
    })
  }
  t.strictSame(await count(), NOTHING)
})

t.test('a file whose record may be there stays until the sweep knows', async (t) => {
  const Model = db.collection('files')
  const failing = new Proxy(Model, {
    get(target, name) {
      if (name !== 'insertOne') {
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      }
      return async (document: never, options: never) => {
        if (isStored) await target.insertOne(document, options)
        else await target.findOne()
        throw new MongoNetworkError('the connection was lost')
      }
    },
  })
  let isStored = false
  const { files } = await start(t, { Model: failing as typeof Model })
  const upload = { content: Buffer.from('a') }
  await t.rejects(files.create({ name: 'a' }, { upload }), { code: 503 })
  t.strictSame(await count(), [0, 1, 1, 1])
  isStored = true
  await t.rejects(files.create({ name: 'a' }, { upload }), { code: 503 })
  t.strictSame(await count(), [1, 2, 2, 2])
  await files.sweep({ minAgeMs: 0 })
  t.strictSame(await count(), ONE)
})

t.test('removes the bytes when the removal is committed, never after an abort', async (t) => {
  const { app, files } = await start(t)
  const { _id } = await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  const remove = (isAborted: boolean) =>
    transaction(app, async () => {
      await files.remove(String(_id))
      if (isAborted) throw new Error('aborted')
    })
  await t.rejects(remove(true), { message: 'aborted' })
  await files.sweep({ minAgeMs: 0 })
  t.strictSame(await count(), ONE)
  await remove(false)
  await files.sweep({ minAgeMs: 0 })
  t.strictSame(await count(), NOTHING)
})

t.test('with a session of the caller, the sweep removes the bytes', async (t) => {
  const { files } = await start(t)
  const { _id } = await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  const session = db.client.startSession()
  t.teardown(() => session.endSession())
  session.startTransaction()
  await files.remove(String(_id), { docdb: { session } })
  t.strictSame(await count(), [1, 1, 1, 1])
  await session.commitTransaction()
  t.equal(await files.sweep({ minAgeMs: 0 }), 1)
  t.strictSame(await count(), NOTHING)
})

t.test('a file that is only marked as removed keeps its bytes', async (t) => {
  const { files } = await start(t, {}, { before: { all: [softDelete()] } })
  const { _id } = await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  await files.remove(String(_id))
  await t.rejects(files.get(String(_id)), { code: 404 })
  t.strictSame(await count(), ONE)
  await files.remove(String(_id), { withDeleted: true })
  t.strictSame(await count(), NOTHING)
})

t.test('a storage that fails changes no answer: a later sweep tidies up', async (t) => {
  const inner = gridFSStorage(db, { bucketName: 'files' })
  let isBroken = false
  const remove = async (id: string) => {
    if (isBroken) throw new Error('the disk is gone')
    await inner.remove(id)
  }
  const { files, warned } = await start(t, { storage: { ...inner, remove } })
  const { _id } = await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  isBroken = true
  t.match(await files.remove(String(_id)), { _id })
  t.match(warned, [{ err: { message: 'the disk is gone' } }])
  t.strictSame(await count(), [0, 1, 1, 1])
  t.equal(await files.sweep({ minAgeMs: 0 }), 0)
  t.equal(warned.length, 2)
  isBroken = false
  t.equal(await files.sweep({ minAgeMs: 0 }), 1)
  t.strictSame(await count(), NOTHING)
})

t.test('one file that cannot be removed keeps no other one', async (t) => {
  const inner = gridFSStorage(db, { bucketName: 'files' })
  const bad = new ObjectId()
  const notes = db.collection('files.pending')
  const remove = async (id: string) => {
    if (id === String(bad)) throw new Error('the disk is gone')
    await inner.remove(id)
  }
  const at = new Date(0)
  await notes.insertMany([
    { file: bad, at },
    ...Array.from({ length: 250 }, () => ({ file: new ObjectId(), at })),
  ])
  const { files, warned } = await start(t, { storage: { ...inner, remove } })
  await files.teardown(...([{ readiness: new Map() }, 'files'] as never[] as [never, never]))
  t.strictSame(await notes.find().toArray(), [{ _id: (await notes.findOne())?._id, file: bad, at }])
  t.match(warned, [{ err: { message: 'the disk is gone' } }])
})

t.test('starts while the storage hangs, and ends after its sweep', async (t) => {
  const inner = gridFSStorage(db, { bucketName: 'files' })
  const isBack = new Gate()
  const remove = async (id: string) => {
    await isBack.pass()
    await inner.remove(id)
  }
  await db.collection('files.pending').insertOne({ file: new ObjectId(), at: new Date(0) })
  const { app } = await start(t, { storage: { ...inner, remove } })
  const ended = app.teardown()
  t.strictSame(await count(), [0, 0, 0, 1])
  isBack.open()
  await ended
  t.strictSame(await count(), NOTHING)
})

t.test('a sweep that fails at the start is logged', async (t) => {
  class Broken extends FileService {
    override async sweep(): Promise<number> {
      throw new Error('no notes')
    }
  }
  const warned: unknown[] = []
  const app = createApp<Record<string, object>>()
  app.logger = { ...console, warn: (details: unknown) => warned.push(details) } as unknown as Logger
  app.use('files', new Broken({ Model: db.collection('files') }))
  await app.setup()
  await app.teardown()
  t.match(warned, [{ err: { message: 'no notes' } }])
})

t.test('cleans up at the start, after a day', async (t) => {
  const { files } = await start(t)
  await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  const notes = db.collection('files.pending')
  const at = new Date(0)
  const [record] = await db.collection('files').find().toArray()
  const lost = new ObjectId()
  await gridFSStorage(db, { bucketName: 'files' }).write(String(lost), inParts(99_999))
  await notes.insertMany([
    { file: record?._id, at },
    { file: lost, at },
    { file: lost, at: new Date('2100-01-01') },
  ])
  const other = createApp()
  other.use('files', new FileService({ Model: db.collection('files') }))
  await other.setup()
  await other.teardown()
  t.strictSame(await count(), [1, 1, 1, 1])
})

t.test('rejects options, collections and calls that it cannot serve', async (t) => {
  const Model = db.collection('files')
  const invalid: readonly Record<string, unknown>[] = [
    ...[{ storage: {} }, { maxBytes: 0 }, { types: ['png'] }, { inline: 'image/png' }],
    ...[{ forms: 1 }, { linkSecret: 'short' }, { maxByte: 1 }],
    ...[{ types: ['image/p*'] }, { inline: ['*/png'] }, { types: [1] }],
    ...[{ multi: true }, { multi: ['remove'] }, { id: 'key' }],
    ...[{ allowClientId: true }, { disableObjectify: true }],
  ]
  for (const options of invalid) {
    t.throws(() => new FileService({ Model, ...options }), TypeError, JSON.stringify(options))
  }
  const { files } = await start(t)
  const upload = { content: Buffer.from('a') }
  t.throws(() => files.createLink('a'), { message: /linkSecret/ })
  t.throws(() => files.checkLink('a', {}), { code: 403 })
  const adapter = { Model: db.collection('notes') }
  await t.rejects(files.create({}, { upload, adapter }), TypeError)
  await t.rejects(files.remove('a', { adapter }), TypeError)
  await t.rejects(files.create([{}], { upload }), { code: 405 })
  await t.rejects(files.remove(null), { code: 405 })
  await t.rejects(files.remove(null, { adapter: { multi: true } }), { code: 405 })
  await t.rejects(files.sweep({ minAge: 1 } as never), { message: /minAgeMs/ })
  await t.rejects(files.sweep({ minAgeMs: Number.NaN }), { message: /minAgeMs/ })
  await t.rejects(files.create({}, { upload: { ...upload, size: 2 } }), { code: 400 })
  await t.rejects(files.openFile('a'), { code: 404 })
  t.notOk('update' in files && files.update)
  t.strictSame(await count(), NOTHING)
})

t.test('the case of accepted types does not matter', async (t) => {
  const { files } = await start(t, { types: ['Text/PLAIN'], inline: ['TEXT/*'] })
  const upload = { content: Buffer.from('a'), type: 'text/plain' }
  const { _id } = await files.create({ name: 'a' }, { upload })
  t.ok((await files.openFile(String(_id))).isInline)
})

t.test('only a patch loses what follows from the bytes, not a custom method', async (t) => {
  class Named extends FileService {
    async rename(data: object) {
      return data
    }
  }
  const app = createApp<Record<string, object>>()
  const files = new Named({ Model: db.collection('files') })
  app.use('files', files, { methods: ['patch', 'rename'] as never })
  await app.setup()
  t.teardown(() => app.teardown())
  const data = { name: 'a/b', type: 'public', size: 3 }
  t.strictSame(await files.rename(data), data)
  const call = files.rename as unknown as (data: object, params: object) => Promise<unknown>
  t.strictSame(await call.call(files, data, external), data)
  const { _id } = await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  t.match(await files.patch(String(_id), data as never, external as never), { name: 'b', size: 1 })
})

t.test('FILE-8: a link ends, and has one path', async (t) => {
  const linkSecret = 'the links of these tests are signed by this'
  const { app, files } = await start(t, { linkSecret })
  const { _id } = await files.create({ name: 'a' }, { upload: { content: Buffer.from('a') } })
  const id = _id as ObjectId
  for (const expiresInMs of [Number.NaN, Number.POSITIVE_INFINITY, 0, -1, '1h' as never]) {
    t.throws(() => files.createLink(id, { expiresInMs }), { message: /expiresInMs/ })
  }
  t.throws(() => files.createLink(id, { expiresIn: 1 } as never), { message: /expiresInMs/ })
  // What versions that let links of NaN pass have signed.
  const link = new SignedLinks(linkSecret)
  const sign = Reflect.get(Date, 'now')
  Date.now = () => Number.NaN
  const query = new URLSearchParams(link.create('files', String(id), 1))
  Date.now = sign
  t.throws(() => files.checkLink(String(id), Object.fromEntries(query)), { code: 403 })
  t.match(files.createLink(id, { expiresInMs: 1 }), /^\/files\//)
  const placed = new FileService({ Model: db.collection('files'), linkSecret })
  app.use('users/:userId/pics', placed)
  t.throws(() => placed.createLink(id), { message: /placeholders/ })
})

import { gzipSync } from 'node:zlib'
import { S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import type { FileStorage } from '../../../src/adapter/files/index.ts'
import { s3Storage } from '../../../src/adapter/files/s3-storage.ts'
import { leadClock } from '../../support/clock.ts'
import { startS3 } from '../../support/s3-server.ts'

const ID = '65f000000000000000000001'

async function* inParts(...parts: readonly (Uint8Array | Error)[]) {
  for (const part of parts) {
    if (part instanceof Error) throw part
    yield part
  }
}

async function read(storage: FileStorage, start: number, end: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of storage.read(ID, start, end)) parts.push(part)
  return Buffer.concat(parts)
}

t.test('stores bytes under a prefix, reads a range of them, and removes them', async (t) => {
  const { bucket, client, objects } = await startS3(t)
  const storage = s3Storage({ bucket, client, prefix: 'files/' })
  await storage.write(ID, inParts(Buffer.from('01234'), Buffer.from('56789')))
  t.strictSame([...objects.keys()], [`files/${ID}`])
  t.equal(String(await read(storage, 0, 10)), '0123456789')
  t.equal(String(await read(storage, 3, 7)), '3456')
  t.equal((await read(storage, 4, 4)).length, 0)
  await storage.remove(ID)
  t.equal(objects.size, 0)
  await t.resolves(storage.remove(ID), 'which may be gone')
})

t.test('sends a large file in parts, and an empty one as it is', async (t) => {
  const { bucket, client, objects, parts, requests } = await startS3(t)
  const storage = s3Storage({ bucket, client })
  const part = Buffer.alloc(3_000_000, 'abcdefg')
  await storage.write(ID, inParts(part, part, part, part))
  t.ok(objects.get(ID)?.bytes.equals(Buffer.concat([part, part, part, part])))
  t.equal(requests.filter((request) => request.startsWith('PUT')).length, 3)
  t.equal(parts.size, 0)
  await storage.write(ID, inParts())
  t.equal(objects.get(ID)?.bytes.length, 0)
})

t.test('an upload that breaks off rejects with its error, and leaves nothing', async (t) => {
  const { bucket, client, objects, parts } = await startS3(t)
  const storage = s3Storage({ bucket, client })
  const broken = new Error('The connection closed')
  await t.rejects(storage.write(ID, inParts(Buffer.alloc(12_000_000), broken)), broken)
  await t.rejects(storage.write(ID, inParts(Buffer.from('a'), broken)), broken)
  t.strictSame([objects.size, parts.size], [0, 0])
})

t.test(
  'FILE-13: a client sends the file that it has declared, until the URL expires',
  async (t) => {
    const { bucket, client, objects } = await startS3(t)
    const storage = s3Storage({ bucket, client })
    const clock = leadClock(t)
    const declared = { size: 3, type: 'image/png' }
    const { url, headers } = (await storage.requestUpload?.(ID, declared, 60_000)) ?? { url: '' }
    const put = async (body: string, more = {}): Promise<number> =>
      (await fetch(url, { method: 'PUT', headers: { ...headers, ...more }, body })).status
    t.equal(await put('abcd'), 403, 'another size')
    t.equal(await put('abc', { 'content-type': 'text/html' }), 403, 'another type')
    t.equal((await fetch(url.replace(ID, `${ID}0`), { method: 'PUT', body: 'abc' })).status, 403)
    t.equal((await fetch(url)).status, 403, 'it does not read')
    t.equal(objects.size, 0)
    t.equal(await put('abc'), 200)
    clock.advance(61_000)
    t.equal(await put('abc'), 403, 'expired')
  },
)

t.test('FILE-13: what was taken over cannot be replaced', async (t) => {
  const { bucket, client, objects } = await startS3(t)
  const storage = s3Storage({ bucket, client, prefix: 'a b/' })
  const declared = { size: 3, type: 'image/png' }
  t.equal(await storage.takeUpload?.(ID), false, 'nothing was sent')
  const { url, headers } = (await storage.requestUpload?.(ID, declared, 60_000)) ?? { url: '' }
  const put = (body: string) => fetch(url, { method: 'PUT', headers: headers ?? {}, body })
  await put('old')
  t.equal(await storage.takeUpload?.(ID), true)
  t.strictSame([...objects.keys()], [`a b/${ID}`])
  await put('new')
  t.equal(String(await read(storage, 0, 3)), 'old')
  await storage.remove(ID)
  t.equal(objects.size, 0, 'what was sent later is removed too')
})

t.test('FILE-13: what a client says of its bytes does not come with them', async (t) => {
  const { bucket, client, objects } = await startS3(t)
  const storage = s3Storage({ bucket, client, prefix: 'a+b?/', redirect: true })
  const packed = gzipSync('<script>')
  const declared = { size: packed.length, type: 'text/plain' }
  const { url, headers } = (await storage.requestUpload?.(ID, declared, 60_000)) ?? { url: '' }
  const more = { ...headers, 'content-encoding': 'gzip' }
  t.equal((await fetch(url, { method: 'PUT', headers: more, body: packed })).status, 200)
  t.match([...objects.values()], [{ headers: { 'content-encoding': 'gzip' } }])
  t.equal(await storage.takeUpload?.(ID), true)
  const file = { name: 'a.txt', hash: '', ...declared }
  const response = await fetch(String(await storage.link?.(ID, file, 'inline')))
  t.equal(response.headers.get('content-encoding'), null)
  t.ok(packed.equals(Buffer.from(await response.arrayBuffer())))
})

t.test('a bucket that does not answer is an error, not a file that was never sent', async (t) => {
  const { bucket, client, fail } = await startS3(t)
  const storage = s3Storage({ bucket, client })
  fail('PUT')
  await t.rejects(storage.write(ID, inParts(Buffer.from('a'))))
  await t.rejects(Promise.resolve(storage.takeUpload?.(ID)), { name: /./ })
  fail(null)
  const other = s3Storage({ bucket: 'other', client })
  await t.rejects(Promise.resolve(other.takeUpload?.(ID)), { name: 'NoSuchBucket' })
})

t.test('downloads are redirected where they should be', async (t) => {
  const { bucket, client } = await startS3(t)
  t.equal(s3Storage({ bucket, client }).link, undefined)
  const storage = s3Storage({ bucket, client, redirect: true })
  await storage.write(ID, inParts(Buffer.from('abc')))
  const file = { name: 'a.png', type: 'image/png', size: 3, hash: '' }
  const disposition = 'attachment; filename="a b.png"'
  const url = String(await storage.link?.(ID, file, disposition))
  const response = await fetch(url)
  t.equal(await response.text(), 'abc')
  t.equal(response.headers.get('content-type'), 'image/png')
  t.equal(response.headers.get('content-disposition'), disposition)
  t.equal((await fetch(`${url}0`)).status, 403)
})

t.test('rejects options that it does not know', async (t) => {
  const make = (options: object) => () => s3Storage(options as never)
  t.throws(make({}), new TypeError("s3Storage(): the option 'bucket' is required"))
  t.throws(make({ bucket: '' }), /'bucket' must be a non-empty string/)
  t.doesNotThrow(make({ bucket: 'a', prefix: '' }))
  const client = new S3Client({ region: 'eu-west-1' })
  t.throws(make({ bucket: 'a', client }), /'client' must be an object with options of S3Client/)
  t.throws(make({ bucket: 'a', redirects: true }), /'redirects'; did you mean 'redirect'\?/)
})

import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { S3ClientConfig } from '@aws-sdk/client-s3'
import type { Gate } from './gate.ts'

// The SDK would warn of its next version on each run with Node 20.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'

const SECRET = 'the secret key of this server'

interface StoredObject {
  readonly bytes: Buffer
  /** What its sender says about it, among it an encoding. */
  readonly headers: Readonly<Record<string, string | undefined>>
}

/** A server with one bucket in memory, for the requests that a storage of files makes. It checks all signatures. */
export interface S3Server {
  readonly bucket: string
  /** Options of a client that may use it. */
  readonly client: S3ClientConfig
  /** By key. */
  readonly objects: Map<string, StoredObject>
  /** The parts of uploads that have not ended, by id. */
  readonly parts: Map<string, Buffer[]>
  /** Method and path of each request, without its query. */
  readonly requests: string[]
  /** The names of the headers of each request. */
  readonly headers: string[][]
  /** Rejects the requests of a method with 503 from now on. */
  fail(method: string | null): void
  /** Has the requests of a method wait at a gate from now on. */
  hold(method: string, gate: Gate): void
}

/** Starts the server, until the end of the test. */
export async function startS3(t: { teardown(end: () => unknown): void }): Promise<S3Server> {
  const objects = new Map<string, StoredObject>()
  const parts = new Map<string, Buffer[]>()
  const requests: string[] = []
  const names: string[][] = []
  let failing: string | null = null
  const gates = new Map<string, Gate>()
  const server = createServer(async (request, response) => {
    const { method = '', url = '' } = request
    const { pathname, searchParams: query } = new URL(url, 'http://s3')
    const key = decodeURIComponent(pathname.slice('/bucket/'.length))
    const bytes = await read(request)
    requests.push(`${method} ${pathname}`)
    names.push(Object.keys(request.headers))
    await gates.get(method)?.pass()
    // Pages of all origins may send and get objects.
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-methods', 'PUT')
    response.setHeader('access-control-allow-headers', 'content-type')
    if (method === 'OPTIONS') return end(response, 204)
    if (method === failing) return end(response, 503)
    if (!isSigned(request, bytes)) return end(response, 403, 'SignatureDoesNotMatch')
    if (!pathname.startsWith('/bucket/')) return end(response, 404, 'NoSuchBucket')
    const { 'content-type': type, 'content-encoding': encoding } = request.headers
    const headers = { 'content-type': type, 'content-encoding': encoding }
    const upload = query.get('uploadId')
    const source = request.headers['x-amz-copy-source']
    if (method === 'DELETE') {
      if (upload === null) objects.delete(key)
      else parts.delete(upload)
      return end(response, 204)
    }
    if (method === 'POST' && upload === null) {
      const id = String(requests.length)
      parts.set(id, [])
      return send(response, `<R><UploadId>${id}</UploadId></R>`)
    }
    if (method === 'POST' && upload !== null) {
      objects.set(key, { bytes: Buffer.concat(parts.get(upload) ?? []), headers })
      parts.delete(upload)
      return send(response, '<R><ETag>"whole"</ETag></R>')
    }
    if (upload !== null) {
      // In any order.
      Object.assign(parts.get(upload) ?? [], { [Number(query.get('partNumber')) - 1]: bytes })
      return end(response.setHeader('etag', '"part"'), 200)
    }
    const found = objects.get(
      source === undefined ? key : decodeURIComponent(String(source)).slice('bucket/'.length),
    )
    if (method === 'PUT' && source === undefined) {
      objects.set(key, { bytes, headers })
      return end(response, 200)
    }
    if (found === undefined) return end(response, 404, 'NoSuchKey')
    if (method === 'PUT') {
      const isReplaced = request.headers['x-amz-metadata-directive'] === 'REPLACE'
      objects.set(key, isReplaced ? { ...found, headers } : found)
      return send(response, '<R><ETag>"copy"</ETag></R>')
    }
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
    const shown = query.get('response-content-disposition')
    if (shown !== null) response.setHeader('content-disposition', shown)
    for (const [name, value] of Object.entries(found.headers)) {
      if (value !== undefined) response.setHeader(name, value)
    }
    const shownType = query.get('response-content-type')
    if (shownType !== null) response.setHeader('content-type', shownType)
    response.statusCode = first === undefined ? 200 : 206
    return response.end(found.bytes.subarray(Number(first ?? 0), Number(last ?? Infinity) + 1))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const endpoint = `http://127.0.0.1:${port}`
  const credentials = { accessKeyId: 'key', secretAccessKey: SECRET }
  const client = {
    endpoint,
    region: 'eu-west-1',
    forcePathStyle: true,
    credentials,
    maxAttempts: 1,
  }
  const fail = (method: string | null): void => {
    failing = method
  }
  const hold = (method: string, gate: Gate): unknown => gates.set(method, gate)
  const shared = { bucket: 'bucket', client, objects, parts, requests, headers: names }
  return { ...shared, fail, hold }
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts)
}

function send(response: ServerResponse, body: string): void {
  response.setHeader('content-type', 'application/xml').end(body)
}

function end(response: ServerResponse, status: number, code?: string): void {
  response.statusCode = status
  send(response, code === undefined ? '' : `<Error><Code>${code}</Code></Error>`)
}

/**
 * Whether a request has a signature, in its header or its URL, that has not expired and fits what it signs.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html
 */
function isSigned({ method, url = '', headers }: IncomingMessage, bytes: Buffer): boolean {
  const { pathname, searchParams } = new URL(url, 'http://s3')
  const inHeader = /Credential=[^/]+\/(.+), SignedHeaders=(.+), Signature=(.+)$/.exec(
    headers.authorization ?? '',
  )
  const param = (name: string): string => searchParams.get(`X-Amz-${name}`) ?? ''
  const [scope, signed, signature] = inHeader?.slice(1) ?? [
    param('Credential').replace(/^[^/]+\//, ''),
    ...[param('SignedHeaders'), param('Signature')],
  ]
  const date = String(inHeader === null ? param('Date') : headers['x-amz-date'])
  const sum = String(headers['x-amz-content-sha256'] ?? 'UNSIGNED-PAYLOAD')
  if (/^[\da-f]{64}$/.test(sum) && sum !== sha256(bytes)) return false
  const time = Date.parse(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'))
  if (inHeader === null && Date.now() > time + Number(param('Expires')) * 1_000) return false
  const query = [...searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map((pair) => pair.map(encode).join('='))
    .sort()
    .join('&')
  const lines = String(signed).split(';')
  const request = [
    ...[method, pathname, query],
    ...lines.map((name) => `${name}:${String(headers[name] ?? '').trim()}`),
    ...['', signed, sum],
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(request)].join('\n')
  const key = String(scope)
    .split('/')
    .reduce<string | Buffer>((inner, part) => sign(inner, part), `AWS4${SECRET}`)
  return sign(key, text).toString('hex') === signature
}

const sign = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()

const sha256 = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex')

const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  )

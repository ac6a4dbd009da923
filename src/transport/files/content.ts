import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FileStore, StoredFile } from '../../core/files/file-content.ts'
import { isFileStore } from '../../core/files/file-content.ts'
import { toDisposition } from '../../core/files/file-name.ts'
import { isActiveType, UNKNOWN_TYPE } from '../../core/files/media-types.ts'
import type { DescribedCall } from '../../core/function-metadata.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { HttpAnswer, Id, ServiceEntry } from '../../core/index.ts'
import { namesTag } from '../../core/tag-comparison.ts'
import { credentials, queryToken } from '../credentials.ts'
import { functionsAfter, functionsBefore, replyData } from '../functions-around.ts'
import { sendBody } from '../replies/body.ts'
import { isAnswered, markAnswered } from '../replies/reply-state.ts'
import { SOCKET_FEATURES } from '../rest-features.ts'
import type { RestFeature } from '../rest-plan.ts'
import { RestPlans } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
import { isPathTarget } from '../routing/request-path.ts'
import { ID_PLACEHOLDER, toPatterns } from '../routing/service-router.ts'
import type { ScopePart } from '../scope-parts.ts'
import { RestCall } from '../service-handler.ts'
import { answerNotFound } from '../service-reply.ts'
import { acceptUploads } from './uploads.ts'

/** Adds the routes of services with files: uploads, and `GET /<path>/<id>/content`. */
export const fileRoutes: ScopePart = {
  addBefore: async (_scope, { app }) => {
    for (const entry of app.entries.values()) {
      if (isFileStore(entry.service)) acceptUploads(entry, entry.service)
    }
  },
  addAfter(scope, transport) {
    for (const [path, entry] of transport.app.entries) {
      const isReadable = entry.methods.get('get')?.external === true
      if (isReadable && isFileStore(entry.service)) addContentRoute(scope, transport, path, entry)
    }
  },
}

function addContentRoute(
  scope: FastifyInstance,
  transport: RestTransport,
  path: string,
  entry: ServiceEntry,
): void {
  const plans = new RestPlans(transport, CONTENT_FEATURES)
  const [, record] = toPatterns(path, transport.prefix)
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    const get = entry.methods.get('get')
    const isServed = transport.app.entries.get(path) === entry && isPathTarget(request.raw.url)
    if (!isServed || get === undefined) {
      answerNotFound(transport, request, reply)
      return
    }
    const { [ID_PLACEHOLDER]: id = '', ...route } = request.params as Record<string, string>
    new RestCall(plans.get(get), { id, route }, request, reply).start()
  }
  const config: object = { service: path, serviceMethod: 'get' }
  scope.route({
    method: ['GET', 'HEAD'],
    url: `${record}/content`,
    exposeHeadRoute: false,
    config,
    handler,
  })
}

/** The parameter of a signed link, by which a call is internal: anyone with the link may read the file. */
const SIGNATURE = 'signature'

const isLink = (query: object): boolean => SIGNATURE in query

/** Responds to a `get` that has found the record of a file with its content. */
const sendContent: RestFeature = ({ entry }, transport) => {
  const store = entry.service as unknown as FileStore
  return {
    query: (_call, query) => (isLink(query) ? {} : query),
    params: ({ request, reply, target }, params) => {
      const query = transport.readQuery(request)
      if (!isLink(query)) return
      store.checkLink(target.id ?? '', query)
      params.provider = undefined
      params.authentication = undefined
      reply.header('referrer-policy', 'no-referrer')
    },
    transform: async (call) => {
      const { context, request, reply } = call
      // A hook has chosen another response. The record is no part of it: a link shows the content alone.
      if (reply.statusCode !== 200 || call.body == null) {
        call.body = undefined
        return true
      }
      const file = await store.openFile(context.id as Id)
      // The call has already timed out.
      if (!isAnswered(reply)) await sendFile(file, request, reply, context.http)
      return false
    },
  }
}

/** What a call needs whose response is no record: what watches all calls, the caller, and functions around them. */
const CONTENT_FEATURES: readonly RestFeature[] = [
  ...SOCKET_FEATURES,
  credentials,
  functionsBefore,
  queryToken,
  replyData,
  functionsAfter,
  sendContent,
]

describeFunction(fileRoutes, {
  terms: {
    isFor: ({ method, service }) => method === 'get' && isFileStore(service),
    byteOperation: {
      ...{ path: '/content', id: 'getContentOf', summary: 'Get the content of a file' },
      answers: { 200: 'The content.', 206: 'The bytes of the range.' },
      features: CONTENT_FEATURES,
    },
  },
})

const hasLinks = ({ service }: DescribedCall): boolean => isFileStore(service) && service.hasLinks

describeFunction(sendContent, {
  terms: [
    {
      header: { name: 'Range', description: 'The bytes to return: `bytes=0-99`.' },
      answerHeaders: {
        ETag: { description: 'Identifies the content.' },
        'Accept-Ranges': { description: '`bytes`' },
        'Content-Disposition': { description: 'The name, and whether to display the file.' },
      },
      answers: { 304: 'The caller has the content already.', 416: 'The file has no such bytes.' },
    },
    { header: { name: 'If-None-Match', description: 'The `ETag` that the caller has.' } },
    {
      isFor: ({ service }) => isFileStore(service) && service.redirects,
      answers: { 302: 'The content is at another URL.' },
    },
    { isFor: hasLinks, query: { name: 'expires', description: 'From a signed link.' } },
    {
      isFor: hasLinks,
      query: { name: SIGNATURE, description: 'From a signed link.' },
      isOpen: true,
    },
  ],
})

/** For pages that a file could contain: they are opaque to the site, and run nothing. */
const POLICY =
  "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"

/** Viewers of PDF do not work in a sandbox, and run the scripts of the file apart from the site. */
const UNBOXED = 'application/pdf'

async function sendFile(
  file: StoredFile,
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
  http: HttpAnswer,
): Promise<void> {
  const { name, type, size, hash, isInline } = file
  const disposition = toDisposition(isInline ? 'inline' : 'attachment', name)
  const isCached = Object.keys(http.headers ?? {}).some((one) => /^cache-control$/i.test(one))
  if (!isCached) reply.header('cache-control', 'private, no-cache')
  const etag = `"${hash}"`
  const isKnown = namesTag(headers['if-none-match'], etag, () => false)
  if (isKnown) return void reply.code(304).header('etag', etag).send()
  // As it may be a script, it must not have a type by which a page could load it.
  const isHarmless = isInline || !isActiveType(type)
  const shownType = withCharset(isHarmless ? type : UNKNOWN_TYPE)
  // Another server does not know the policy, and a signature is for one method.
  const isElsewhere = method === 'GET' && !(isInline && isActiveType(type))
  const url = isElsewhere ? await file.findURL(shownType, disposition) : null
  // The call has already timed out.
  if (isAnswered(reply)) return
  if (url !== null) return void reply.header('cache-control', 'no-store').redirect(url, 302)
  // Compressed content has no ranges.
  headers['x-no-compression'] = 'true'
  reply.header('etag', etag).header('accept-ranges', 'bytes')
  const isWhole = method === 'HEAD' || (headers['if-range'] ?? etag) !== etag
  const range = isWhole ? null : readRange(headers.range, size)
  if (range !== null && range.start >= range.end) {
    return void reply.code(416).header('content-range', `bytes */${size}`).send()
  }
  const { start, end } = range ?? { start: 0, end: size }
  if (range !== null) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${size}`)
  reply
    .header('content-type', shownType)
    .header('content-length', end - start)
    .header('content-disposition', disposition)
  if (type !== UNBOXED) reply.header('content-security-policy', POLICY)
  markAnswered(reply)
  sendBody(reply, method === 'HEAD' ? null : toStream(file.read(start, end)))
}

function withCharset(type: string): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}

function toStream(content: AsyncIterable<Uint8Array>): Readable {
  if (content instanceof Readable) return content
  // It reads the next part only when the last one was written.
  return Readable.from(content, { objectMode: false, highWaterMark: 1 })
}

/**
 * Returns the range that a request asks for; `null` for all, also if it asks for several. The range is empty if it is
 * outside of the file.
 * @see RFC 9110 §14.1.2
 */
function readRange(
  header: string | undefined,
  size: number,
): { start: number; end: number } | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return null
  if (first === '') return { start: Math.max(0, size - Number(last)), end: size }
  if (last !== '' && Number(last) < Number(first)) return null
  return { start: Number(first), end: last === '' ? size : Math.min(Number(last) + 1, size) }
}

import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { BodyTooLarge, InvalidBody, InvalidQuery } from '../../core/errors/coded-errors.ts'
import type { FileStore, SentUpload, Upload } from '../../core/files/file-content.ts'
import { isFileStore } from '../../core/files/file-content.ts'
import type { ByteBody, DescribedCall } from '../../core/function-metadata.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { Query, ServiceEntry } from '../../core/index.ts'
import { setParsers } from '../body-parsers.ts'
import { fromFastifyError } from '../errors/fastify-error.ts'
import { askToInstall } from '../missing-package.ts'
import { createUnsupportedType, hasBody } from '../parsing/request-body.ts'
import { isAnswered, isGone } from '../replies/reply-state.ts'
import type { RestFeature } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
import { ID_PLACEHOLDER } from '../routing/service-router.ts'
import { letBodyTakeItsTime } from '../server/slow-bodies.ts'
import { noteProgress } from '../timed-requests.ts'

/** The media type by which Fastify finds the parser, whatever type a file has. */
const BYTES = 'application/octet-stream'

/** The fields of uploads are strings, as those of this type are: schemas convert them. */
const FIELDS_TYPE = 'application/x-www-form-urlencoded'

/** Limits for the parts of a form before its file. */
const FORM_LIMITS = {
  ...{ files: 1, fileSize: Number.POSITIVE_INFINITY },
  ...{ fields: 100, fieldSize: 65_536, fieldNameSize: 256, headerPairs: 20 },
}

/** The parameter of a request whose file its client has sent to the storage. */
const SENT = '$upload'

/** How the request of a `create` contains a file: as its body, or in a form. */
type UploadKind = 'file' | 'form'

const KIND: unique symbol = Symbol('remex.uploadKind')
const UPLOAD: unique symbol = Symbol('remex.upload')

/** A part of a form, as `@fastify/multipart` reads it. */
interface FormPart {
  readonly type: 'field' | 'file'
  readonly fieldname: string
  readonly value?: unknown
  readonly valueTruncated?: boolean
  readonly file?: Readable
  readonly filename?: string
  readonly mimetype?: string
}

type UploadRequest = FastifyRequest & {
  [KIND]?: UploadKind
  [UPLOAD]?: Upload | SentUpload
  readonly parts?: () => AsyncIterableIterator<FormPart>
}

/** Makes the routes of a service accept files as bodies. */
export function acceptUploads(entry: ServiceEntry, { takesForms }: FileStore): void {
  setParsers(entry, [
    async (routes: FastifyInstance) => {
      routes.addHook('onRequest', chooseParser)
      routes.addContentTypeParser(BYTES, (request: UploadRequest, payload, done) => {
        if (request[KIND] === undefined) done(createUnsupportedType())
        else done(null, payload)
      })
      if (!takesForms) return
      const { default: multipart } = await import('@fastify/multipart').catch(
        askToInstall("The option 'forms' of FileService", '@fastify/multipart'),
      )
      await routes.register(multipart, { limits: FORM_LIMITS })
    },
  ])
}

/** Lets the body of a `create` be a file of any type, also JSON. */
const chooseParser: onRequestHookHandler = (request: UploadRequest, _reply, done) => {
  const { method, headers, routeOptions } = request
  const isCreate = method === 'POST' && !routeOptions.url?.endsWith(`/:${ID_PLACEHOLDER}`)
  if (isCreate && !headers['x-service-method']) {
    request[KIND] = /^multipart\//i.test(headers['content-type'] ?? '') ? 'form' : 'file'
    if (request[KIND] === 'file') request.headers = { 'content-type': BYTES }
  }
  done()
}

type UploadCall = { readonly request: UploadRequest; readonly reply: FastifyReply }

/** Reads the content of a file and its fields from the body and the query of a `create`. */
export const fileUploads: RestFeature = ({ name, entry }, transport) => {
  if (!isFileStore(entry.service)) return null
  const before = function readUpload({ request, reply }: UploadCall) {
    const kind = request[KIND]
    if (kind === undefined) return undefined
    const fields = pickFields(transport, request, (field) => !field.startsWith('$'))
    const { [SENT]: token } = transport.readQuery(request)
    if (token !== undefined) refuseBody(request)
    else if (kind === 'form') return readForm(request, reply, fields)
    if (typeof fields['name'] !== 'string' || fields['name'] === '') {
      throw new InvalidQuery("A file needs a name in the query: '?name=plan.pdf'")
    }
    request[UPLOAD] =
      token === undefined
        ? toUpload(request, reply)
        : { token: String(token), onRead: () => noteProgress(request.raw) }
    request.body = fields
    return undefined
  }
  // The same for all methods, as their routes share it.
  if (name !== 'create') return { before }
  return {
    before,
    query: ({ request }, query) =>
      KIND in request
        ? pickFields(transport, request, (field) => field.startsWith('$') && field !== SENT)
        : query,
    params: ({ request }: UploadCall, params) => {
      if (request[UPLOAD] === undefined) return
      params.upload = request[UPLOAD]
      params.headers = { ...params.headers, 'content-type': FIELDS_TYPE }
    },
  }
}

const BODY: ByteBody = {
  description: 'The file.',
  fields: { name: { type: 'string', description: 'The name of the file.' } },
}

const isUpload = ({ method, service }: DescribedCall): boolean =>
  method === 'create' && isFileStore(service)

const mayBeForm = (call: DescribedCall): boolean =>
  isUpload(call) && (call.service as FileStore).takesForms

describeFunction(fileUploads, {
  terms: [
    { isFor: isUpload, byteBody: BODY, errors: [413, 415] },
    { isFor: mayBeForm, byteBody: { formField: 'file' } },
    {
      isFor: (call) => isUpload(call) && call.hasMethod('createUpload'),
      byteBody: { isOptional: true },
      query: { name: SENT, description: 'The token of a direct upload, in place of a body.' },
    },
  ],
})

function pickFields(
  transport: RestTransport,
  request: FastifyRequest,
  isPicked: (name: string) => boolean,
): Query {
  const query = Object.entries(transport.readQuery(request))
  return Object.fromEntries(query.filter(([name]) => isPicked(name)))
}

/** Returns the upload of a request whose body is a file. */
function toUpload({ body, raw }: UploadRequest, reply: FastifyReply): Upload {
  const { 'content-type': type, 'content-length': length } = raw.headers
  const content = toContent(body as Readable, raw, reply)
  return { content, type, size: length === undefined ? undefined : Number(length) }
}

function refuseBody(request: FastifyRequest): void {
  if (hasBody(request))
    throw new InvalidBody(`A request with '${SENT}' has no body: the file was sent before`)
}

/** Reads a form up to its file, which hooks have to accept before it is read. */
async function readForm(request: UploadRequest, reply: FastifyReply, given: Query): Promise<true> {
  const parts = request.parts?.()
  const readPart = async (): Promise<FormPart | undefined> => {
    try {
      return (await parts?.next())?.value
    } catch (thrown) {
      const error = fromFastifyError(thrown)
      throw error.code < 500 ? error : new InvalidBody(BROKEN, null, { cause: thrown })
    }
  }
  const { bodyLimit } = request.routeOptions
  const fields = new Map<string, unknown>(Object.entries(given))
  let size = 0
  for (;;) {
    const part = await readPart()
    if (part === undefined) throw new InvalidBody('The form has no file')
    const { fieldname, value, file, filename, mimetype: type } = part
    if (file !== undefined) {
      // As browsers escape it.
      const name = filename?.replaceAll('%22', '"')
      const content = readLast(toContent(file, request.raw, reply), readPart)
      request[UPLOAD] = { content, name, type }
      request.body = Object.fromEntries(fields)
      return true
    }
    if (part.valueTruncated) throw new InvalidBody('A field of the form is too long')
    // The parser reads JSON, however deep it is.
    if (typeof value !== 'string') {
      throw new InvalidBody(`The field '${fieldname}' of the form must be text`)
    }
    size += Buffer.byteLength(fieldname) + Buffer.byteLength(value)
    if (size > bodyLimit) {
      throw new BodyTooLarge(`The fields of the form have more than ${bodyLimit} bytes`)
    }
    fields.set(fieldname, fields.has(fieldname) ? [fields.get(fieldname), value].flat() : value)
  }
}

/** Returns the content of the file of a form, which must be its last part: hooks have not seen later ones. */
async function* readLast(
  content: AsyncIterable<Uint8Array>,
  readPart: () => Promise<FormPart | undefined>,
): AsyncGenerator<Uint8Array, void> {
  yield* content
  if ((await readPart()) !== undefined) {
    throw new InvalidBody('A form has one file, after all of its fields')
  }
}

const BROKEN = 'The connection closed before the whole body had arrived'

/**
 * Returns the bytes of a stream, which stays open if they are not read to the end: the response comes first. The body
 * may take its time once somebody reads it: hooks have accepted the caller.
 */
async function* toContent(
  stream: Readable,
  request: IncomingMessage,
  reply: FastifyReply,
): AsyncGenerator<Uint8Array, void> {
  if (isAnswered(reply)) throw new InvalidBody('The response was sent before the file was read')
  // Over HTTP/2, the body would seem to be empty.
  if (isGone(reply.raw)) throw new InvalidBody(BROKEN)
  letBodyTakeItsTime(request, reply.raw)
  // Once the response is sent, Node no longer destroys the request with its connection.
  const breakOff = (): void => void stream.destroy()
  const connection = (request as { readonly stream?: Readable }).stream ?? request.socket
  connection.once('close', breakOff)
  try {
    for await (const part of stream.iterator({ destroyOnReturn: false })) {
      noteProgress(request)
      yield part
    }
  } catch (cause) {
    throw new InvalidBody(BROKEN, null, { cause })
  } finally {
    connection.off('close', breakOff)
  }
}

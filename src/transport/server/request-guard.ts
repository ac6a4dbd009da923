import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { InvalidRequest, ServerClosing } from '../../core/errors/coded-errors.ts'
import { toStatusError } from '../errors/fastify-error.ts'
import { isProbe } from '../middleware.ts'
import { readKeptQuery } from '../parsing/server-queries.ts'
import { finishUnread } from '../parsing/unread-body.ts'
import { isHost, isPathTarget, isServerTarget, MALFORMED_TARGET } from '../routing/request-path.ts'
import { runInTurn } from './pipelined-requests.ts'
import type { GracefulClose } from './server-lifecycle.ts'

/** Maximum number of headers in one request; Node would silently drop those beyond its own limit. */
const MAX_HEADERS = 100

/**
 * Rejects requests that HTTP allows to be read in several ways: a target that is not a path; a missing, repeated or
 * malformed `Host` header; more headers than are kept; a missing version. Also rejects expectations that cannot be met,
 * and requests that arrive after the port closed. Node would respond to some of them without a body. Limits how many
 * pipelined requests of a connection run at the same time, and how much of a body is read after its response.
 * @param keepsQueries whether queries are parsed only when the route is known
 * @see RFC 9112 §3.2
 */
export function addRequestGuard(
  server: FastifyInstance,
  closing: GracefulClose,
  keepsQueries: boolean,
): void {
  server.server.maxHeadersCount = 0
  server.server.on('checkExpectation', server.routing)
  const known: KnownHost = { last: '' }
  const guardRequest: onRequestHookHandler = (request, reply, done) => {
    // As in `finishBody`: a request after the last response must not run.
    if (request.raw.socket.writableEnded) return
    if (keepsQueries) readKeptQuery(request)
    closing.track(request.raw)
    const { 'content-length': length, 'transfer-encoding': encoding } = request.raw.headers
    if (length !== undefined || encoding !== undefined) finishUnread(request, reply.raw)
    const error = findFault(request.raw, known)
    if (error !== null) done(error)
    // Probes get responses until the end.
    else if (closing.isClosed && !isProbe(request.routeOptions)) {
      done(new ServerClosing('The server is closing'))
    } else if (reply.raw.socket === null) runInTurn(request.raw, reply.raw, done)
    else done()
  }
  server.addHook('onRequest', guardRequest)
}

const SLASH = '/'.charCodeAt(0)

/** The last valid host, which is not checked again, as a server has few names. */
interface KnownHost {
  last: string
}

type RoutedMessage = IncomingMessage & { readonly originalUrl?: string }

function findFault(raw: RoutedMessage, known: KnownHost): Error | null {
  const { rawHeaders, headers, httpVersion, httpVersionMajor } = raw
  if (httpVersionMajor < 1) return new InvalidRequest('HTTP/0.9 is not supported')
  const { url, originalUrl = url } = raw
  // Most targets are a path that nothing has rewritten.
  const isUsual = originalUrl === url && url?.charCodeAt(0) === SLASH
  if (!isUsual && !hasTarget(raw)) return new InvalidRequest(MALFORMED_TARGET)
  if (rawHeaders.length > 2 * MAX_HEADERS) {
    return toStatusError(431, `The request has more than ${MAX_HEADERS} headers`)
  }
  const hosts = countHosts(rawHeaders)
  if (hosts > 1) return new InvalidRequest('The request has several hosts')
  if (hosts === 0 && httpVersion === '1.1') return new InvalidRequest('The request names no host')
  const { host = known.last } = headers
  if (host !== known.last && !isValidHost(host, known)) {
    return new InvalidRequest('The host of the request is malformed')
  }
  if (headers.expect !== undefined && !/^100-continue$/i.test(headers.expect)) {
    return toStatusError(417, 'Only 100-continue can be expected')
  }
  return null
}

/** Checks both the target that was sent and the one that `rewriteUrl` made of it, which is routed. */
function hasTarget({ method, url, originalUrl = url }: RoutedMessage): boolean {
  if (isServerTarget(method, originalUrl)) return url === originalUrl || isPathTarget(url)
  return isPathTarget(url) && (originalUrl === url || isPathTarget(originalUrl))
}

function isValidHost(host: string, known: KnownHost): boolean {
  if (!isHost(host)) return false
  known.last = host
  return true
}

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  return hosts
}

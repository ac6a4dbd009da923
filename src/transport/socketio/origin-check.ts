import { promisify } from 'node:util'
import type { FastifyRequest } from 'fastify'
import type { SocketioOptions } from './socketio-options.ts'

/**
 * Resolves to whether a page of another site may have sent the cookies of a request: browsers add them to handshakes of
 * WebSocket from any page. Pages of the server, and of `cors.origin`, are not foreign.
 */
export async function isForeign(request: FastifyRequest, cors: Cors): Promise<boolean> {
  const { cookie, origin, 'sec-fetch-site': site } = request.headers
  if (cookie === undefined || origin === undefined || site === 'same-origin') return false
  if (origin === `${request.protocol}://${request.host}`.toLowerCase()) return false
  const { origin: allowed } = Object((await ask(cors, request.raw)) ?? {}) as { origin?: unknown }
  return ![await ask(allowed, origin)].flat().some((one) => {
    if (one instanceof RegExp) return origin.search(one) !== -1
    return one === true || one === '*' || one === origin
  })
}

type Cors = SocketioOptions['cors']
type Ask = (value: unknown, done: (error: unknown, found: unknown) => void) => void

/** Resolves to an option, or to what a function in its place answers. */
const ask = async (option: unknown, value: unknown): Promise<unknown> =>
  typeof option === 'function' ? promisify(option as Ask)(value) : option

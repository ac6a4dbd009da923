import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { ProviderError } from '../../../../src/auth/oauth/provider/provider-fetch.ts'
import type { TestScope } from '../../../support/http.ts'

/** A provider on this machine that behaves as the test wants. */
export interface FakeProvider {
  readonly port: number
  /** `http://127.0.0.1:…` */
  readonly origin: string
  /** How many connections there have been. */
  readonly connections: number
  /** How many of them are open. */
  readonly open: number
}

/** Starts a provider that answers requests; it is closed at the end of the test. */
export function startProvider(
  t: Pick<TestScope, 'teardown'>,
  listener: RequestListener,
): Promise<FakeProvider> {
  return listen(t, createHttpServer(listener))
}

/** Starts a provider that does what it likes with each connection, on its first bytes. */
export function startRawProvider(
  t: Pick<TestScope, 'teardown'>,
  answer: (socket: Socket) => unknown,
): Promise<FakeProvider> {
  const server = createServer((socket) => {
    // Resets by the other side are what many tests are about.
    socket.on('error', () => socket.destroy())
    socket.once('data', () => answer(socket))
  })
  return listen(t, server)
}

/** Has any server listen, and counts its connections. */
export async function listen(
  t: Pick<TestScope, 'teardown'>,
  server: Server,
): Promise<FakeProvider> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
  }
}

/** Stands in requests and answers where codes, tokens and passwords do; no log may have it. */
export const SECRET = 'S3CRET'

/** What is wrong with a provider, by the messages of its errors. */
const FAILURES = {
  timeout: / did not answer within /,
  size: / sent an answer of more than /,
  redirect: / returned a redirect /,
  encoding: / sent its answer in the encoding /,
  status: / returned status \d/,
  certificate: / has a certificate that is not trusted/,
  request: / cannot be called: /,
  address: / (?:must use https:|has a user or|has a URL that|has an address that is not public)/,
  unreachable: / cannot be reached/,
  answer:
    / (?:sent something that is not a response|sent a response that is not|returned the status)/,
}

/** Returns what is wrong with a provider, `undefined` for another error. */
export function toFailure(error: unknown): string | undefined {
  if (!(error instanceof ProviderError)) return undefined
  return Object.entries(FAILURES).find(([, pattern]) => pattern.test(error.message))?.[0]
}

/** Resolves to the error of a request to a provider; one that tells a secret fails the test. */
export async function failureOf(
  answer: Promise<unknown>,
): Promise<{ failure: string | undefined; message: string }> {
  const error = await answer.then(
    (value) => new Error(`answered ${inspect(value)}`),
    (thrown: unknown) => thrown,
  )
  const message = error instanceof Error ? error.message : `threw ${inspect(error)}`
  const text = inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true })
  const bytes = inspect(Buffer.from(SECRET)).replace(/<Buffer |>/g, '')
  if (text.includes(SECRET) || text.includes(bytes)) {
    return { failure: undefined, message: `has a secret: ${text}` }
  }
  return { failure: toFailure(error), message }
}

import type { FastifyInstance, FastifyReply } from 'fastify'
import type { RestTransport } from './transport.ts'

/** Longest time for one check, in milliseconds. */
const CHECK_TIMEOUT_MS = 2_000

/**
 * Adds the two probes: `/health/live` answers 200 as long as the process runs, `/health/ready` only
 * while every check of the application passes and the server is not closing. Neither says more than
 * that to strangers; what fails stands in the log.
 */
export function addHealthRoutes(server: FastifyInstance, transport: RestTransport): void {
  server.get('/health/live', { logLevel: 'warn' }, (_request, reply) => {
    sendHealth(reply, 200, 'ok')
  })
  server.get('/health/ready', { logLevel: 'warn' }, async (request, reply) => {
    const failures = await findFailures(transport)
    for (const { name, error } of failures) request.log.warn({ err: error }, `${name} is not ready`)
    const isReady = failures.length === 0 && !transport.isClosing
    sendHealth(reply, isReady ? 200 : 503, isReady ? 'ok' : 'unavailable')
    return reply
  })
}

interface Failure {
  readonly name: string
  readonly error: unknown
}

async function findFailures(transport: RestTransport): Promise<Failure[]> {
  const checks = [...transport.app.readiness].map(async ([name, check]) => {
    try {
      await withTimeout(check())
      return []
    } catch (error) {
      return [{ name, error }]
    }
  })
  return (await Promise.all(checks)).flat()
}

async function withTimeout(check: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(reject, CHECK_TIMEOUT_MS, new Error(`No answer in ${CHECK_TIMEOUT_MS} ms`))
  })
  await Promise.race([check, timeout]).finally(() => clearTimeout(timer))
}

function sendHealth(reply: FastifyReply, status: number, text: string): void {
  reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .send({ status: text })
}

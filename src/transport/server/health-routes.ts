import type { FastifyInstance, FastifyReply } from 'fastify'
import type { RestTransport } from '../rest-transport.ts'
import { hasRoute } from '../routing/request-path.ts'
import { CLOSING } from './server-lifecycle.ts'

/** Time limit for one check, in milliseconds. */
const CHECK_TIMEOUT_MS = 2_000

/**
 * Adds the two probes: `/health/live` returns 200 while the process runs, `/health/ready` only while every check of the
 * application passes and the server is not closing. Failures are named only in the log, as anyone may call the probes.
 * An existing route with the same path is kept.
 */
export function addHealthRoutes(server: FastifyInstance, transport: RestTransport): void {
  if (!hasRoute(server, 'GET', LIVE)) {
    server.get(LIVE, PROBE, (_request, reply) => sendHealth(reply, 200, 'ok'))
  }
  if (hasRoute(server, 'GET', READY)) return
  let running: Promise<boolean> | null = null
  server.get(READY, PROBE, async (_request, reply) => {
    // Concurrent probes share one round of checks, since anyone may call them.
    running ??= isReady(transport).finally(() => {
      running = null
    })
    const ready = (await running) && !transport.isClosing
    sendHealth(reply, ready ? 200 : 503, ready ? 'ok' : 'unavailable')
    return reply
  })
}

const LIVE = '/health/live'
const READY = '/health/ready'

/** Neither logged nor subject to functions of `app.use()`. */
const PROBE = { logLevel: 'warn', config: { isProbe: true } } as const

/** Returns whether every check passes. A failed one is logged, unless the server was told to close. */
async function isReady({ app, logger }: RestTransport): Promise<boolean> {
  const checks = [...app.readiness].map(async ([name, check]) => {
    try {
      await withTimeout(check())
      return true
    } catch (error) {
      if (error !== CLOSING) logger.warn({ err: error }, `${name} is not ready`)
      return false
    }
  })
  return !(await Promise.all(checks)).includes(false)
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

import type { FastifyInstance } from 'fastify'

/** How a server ends. */
export interface CloseOptions {
  /** How long requests in flight may take, in milliseconds, before they are cut off. Default: 10,000. */
  readonly closeTimeoutMs?: number
}

const SWEEP_MS = 50

/**
 * Makes `close()` wait for requests, not for connections: a connection ends as soon as its request
 * is answered, and after the time limit in any case. Fastify alone waits for the keep-alive timeout.
 */
export function addGracefulClose(server: FastifyInstance, options: CloseOptions = {}): void {
  const { closeTimeoutMs = 10_000 } = options
  let sweep: NodeJS.Timeout | undefined
  let force: NodeJS.Timeout | undefined
  server.addHook('preClose', (done) => {
    sweep = setInterval(() => server.server.closeIdleConnections(), SWEEP_MS)
    force = setTimeout(() => {
      server.log.error({ closeTimeoutMs }, 'Requests still in flight were cut off')
      server.server.closeAllConnections()
    }, closeTimeoutMs)
    done()
  })
  server.addHook('onClose', async () => {
    clearInterval(sweep)
    clearTimeout(force)
  })
}

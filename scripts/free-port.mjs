import { once } from 'node:events'
import { createServer } from 'node:net'

/** Resolves to a port of 127.0.0.1 that nobody listens on. */
export const findFreePort = () => tryPort(0)

/**
 * Resolves to a free port that stays free: no system takes one below 32768 for a program that asks for any,
 * nor for a connection to elsewhere. For servers that are started more than once.
 */
export async function findLastingPort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    try {
      return await tryPort(port)
    } catch (error) {
      if (error.code !== 'EADDRINUSE') throw error
    }
  }
}

async function tryPort(wanted) {
  const server = createServer().listen(wanted, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

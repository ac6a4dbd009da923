import { createServer } from 'node:net'

/** Resolves to a port of 127.0.0.1 that nobody listens on. */
export function findFreePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

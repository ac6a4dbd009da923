import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'

/** Resolves to a port of this host that nobody listens at. */
export async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import type { TestScope } from './http.ts'

/** Where a MongoDB can be later on, or again: nobody else takes the place meanwhile. */
interface SocketPath {
  readonly url: string
  /** Starts an embedded MongoDB that is reached there; it is closed at the end of the test. */
  readonly start: () => Promise<{ readonly close: () => Promise<void> }>
}

/** Returns the path of a Unix socket in a folder of its own, which is removed after the test. */
export function createSocketPath(t: Pick<TestScope, 'teardown'>): SocketPath {
  const folder = mkdtempSync(join(tmpdir(), 'remex-socket-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'mongo.sock')
  const start = async () => {
    const embedded = await startEmbeddedMongo()
    const port = Number(new URL(embedded.url).port)
    const clients = new Set<Socket>()
    const server = createServer((client) => {
      const upstream = connect({ port, host: '127.0.0.1' })
      clients.add(client)
      client.on('error', () => client.destroy()).on('close', () => upstream.destroy())
      client.on('close', () => clients.delete(client))
      upstream.on('error', () => upstream.destroy()).on('close', () => client.destroy())
      client.pipe(upstream).pipe(client)
    })
    server.listen(path)
    await once(server, 'listening')
    const close = async (): Promise<void> => {
      server.close()
      // A client may have gone while its bytes were held back, which nobody would notice.
      for (const client of clients) client.destroy()
      await embedded.close()
    }
    t.teardown(close)
    return { close }
  }
  return { url: `mongodb://${encodeURIComponent(path)}/?directConnection=true`, start }
}

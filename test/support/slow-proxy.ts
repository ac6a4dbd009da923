import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { TestScope } from './http.ts'

/** Stands between a driver and its server, and is as slow as a test wants. */
interface SlowProxy {
  readonly port: number
  /** From now on answers are kept, while connections stay open: a server that hangs. */
  hold(): void
  /** Passes on what was kept, and what comes from now on. */
  release(): void
  /** Breaks all connections at once, and forgets what was kept for them. */
  reset(): void
}

/** Opens a proxy for a port of 127.0.0.1; it is closed at the end of the test. */
export async function startSlowProxy(
  t: Pick<TestScope, 'teardown'>,
  target: number,
): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  let kept: (() => unknown)[] | null = null
  const keep = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    const upstream = connect({ port: target, host: '127.0.0.1' })
    keep(client)
    keep(upstream)
    client.on('data', (chunk) => upstream.write(chunk)).on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    upstream.on('data', (chunk) => {
      const answer = (): unknown => client.writable && client.write(chunk)
      if (kept === null) answer()
      else kept.push(answer)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const reset = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  t.teardown(() => {
    reset()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    hold() {
      kept ??= []
    },
    release() {
      const answers = kept ?? []
      kept = null
      for (const answer of answers) answer()
    },
    reset,
  }
}

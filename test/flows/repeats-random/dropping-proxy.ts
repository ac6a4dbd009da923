import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import type { TestScope } from '../../support/http.ts'

/** What becomes of a request, and how often. */
export interface DropCounts {
  passed: number
  /** The request is lost. */
  request: number
  /** The request is carried out, and its answer lost. */
  answer: number
  /** The connection breaks while the request is carried out. */
  middle: number
}

/**
 * Opens a proxy in front of servers that loses requests and answers. Each connection is to the next server.
 * @param ports returns the ports of the servers that run
 * @param chance returns a number from 0 to 1
 */
export async function startDroppingProxy(
  t: Pick<TestScope, 'teardown'>,
  ports: () => readonly number[],
  chance: () => number,
): Promise<{ readonly url: string; readonly counts: DropCounts }> {
  const counts: DropCounts = { passed: 0, request: 0, answer: 0, middle: 0 }
  let connections = 0
  const server = createServer((client) => {
    connections += 1
    const all = ports()
    const upstream = connect({ port: all[connections % all.length] ?? 0, host: '127.0.0.1' })
    let fate: keyof DropCounts = 'passed'
    client.on('error', () => client.destroy()).on('close', () => upstream.destroy())
    upstream.on('error', () => upstream.destroy()).on('close', () => client.destroy())
    // The requests are small: each is one chunk, as is its answer.
    client.on('data', (chunk) => {
      fate = chooseFate(chance())
      counts[fate] += 1
      if (fate === 'request') client.destroy()
      else upstream.write(chunk, () => fate === 'middle' && client.destroy())
    })
    upstream.on('data', (chunk) => {
      if (fate === 'answer') client.destroy()
      else client.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counts }
}

function chooseFate(random: number): keyof DropCounts {
  if (random < 0.04) return 'request'
  if (random < 0.12) return 'answer'
  return random < 0.16 ? 'middle' : 'passed'
}

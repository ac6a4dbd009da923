import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { openConnection, sendLoad, toRequest } from './load.ts'
import { toNewRecord } from './rest-records.ts'
import { REST_CHILD, startServer } from './rest-server.ts'

// Whether the heap grows: node build/bench/heap.js [--requests 10000] [--aborted 1000] [--gate]

const MAX_GROWTH_MB = 10

/** Before the first reading: routes, compiled code and caches are there to stay. */
const WARM_UP = { requests: 1_000, aborted: 100 }

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    aborted: { type: 'string', default: '1000' },
    gate: { type: 'boolean', default: false },
  },
})
const requests = toCount('requests', values.requests)
const aborted = toCount('aborted', values.aborted)

const SLOW = toRequest('GET', '/slow/1?a[b]=c')
const CREATE = toRequest('POST', '/records', toNewRecord(1))
const HALF_A_CREATE = CREATE.subarray(0, CREATE.length - 20)
const SEQUENTIAL = [
  toRequest('GET', '/records/record-0042'),
  toRequest('GET', '/records?$limit=10&age[$gt]=20'),
  CREATE,
  toRequest('GET', '/no/such/path'),
]

const server = await startServer(REST_CHILD, 'remex')
const port = server.ports.records
try {
  await sendSequential(WARM_UP.requests)
  await sendAborted(WARM_UP.aborted)
  const before = await server.ask('heap')
  await sendSequential(requests)
  const after = await server.ask('heap')
  await sendAborted(aborted)
  const afterAborts = await server.ask('heap')
  const isSequentialFlat = report(`${requests} requests`, after - before)
  const isAbortedFlat = report(`${aborted} aborted requests`, afterAborts - after)
  if (values.gate && !(isSequentialFlat && isAbortedFlat)) process.exitCode = 1
} finally {
  await server.stop()
}

/** One connection, one request after the other. */
async function sendSequential(count: number): Promise<void> {
  const share = Math.ceil(count / SEQUENTIAL.length)
  for (const request of SEQUENTIAL) await sendLoad({ port, request, count: share, connections: 1 })
}

/** Goes away by turns while the service is at work and in the middle of a body. */
async function sendAborted(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const { socket } = await openConnection(port)
    socket.write(index % 2 === 0 ? SLOW : HALF_A_CREATE)
    await delay(2)
    const closed = once(socket, 'close')
    socket.resetAndDestroy()
    await closed
  }
}

/** Prints a growth. Returns whether it is within the limit. */
function report(label: string, bytes: number): boolean {
  const megabytes = bytes / 2 ** 20
  const isFlat = megabytes <= MAX_GROWTH_MB
  const verdict = isFlat ? 'met' : 'MISSED'
  console.log(`${label}: ${megabytes.toFixed(1)} MB, most ${MAX_GROWTH_MB} MB: ${verdict}`)
  return isFlat
}

function toCount(name: string, text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new TypeError(`--${name} is '${text}', not a whole number from 1 on`)
}

import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'

import { createApp, fastifyApp, rest } from 'remex'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'
import type { Outcome } from './fault-cases.ts'

const REQUESTS = 5

/**
 * Resolves to how long the event loop stands still at most while a service answers with 10,000 records
 * of 1 kB. Database and caller have a thread of their own.
 */
export async function measureBigPage(): Promise<Outcome> {
  const other = new Worker(new URL('./big-page-worker.js', import.meta.url))
  const [url] = (await once(other, 'message')) as [string]
  const client = await connectMongoDB(url)
  const app = fastifyApp(createApp()).configure(rest())
  try {
    app.use('notes', new MongoDBService({ Model: client.db('bench').collection('notes') }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as { port: number }
    const blocks: number[] = []
    for (let count = 0; count < REQUESTS; count += 1) {
      const histogram = monitorEventLoopDelay({ resolution: 1 })
      histogram.enable()
      other.postMessage(`http://127.0.0.1:${port}/notes`)
      await once(other, 'message')
      histogram.disable()
      blocks.push(histogram.max / 1e6)
    }
    // The first one compiles code and opens the connection.
    const note = `: ${blocks.map((block) => block.toFixed(0)).join(', ')} ms`
    return { measured: Math.max(...blocks.slice(1)), most: null, unit: 'ms', note }
  } finally {
    await app.close()
    await client.close()
    await other.terminate()
  }
}

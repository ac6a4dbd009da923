// A program that serves until SIGTERM, for tests that end processes. Prints its port when it is
// ready. The argument is JSON: the options of the server and, as `slowMs`, how long a call takes.
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyAppOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'

interface SlowServerOptions extends FastifyAppOptions {
  readonly slowMs: number
}

const { slowMs, ...options }: SlowServerOptions = JSON.parse(process.argv[2] ?? '{}')

const app = fastifyApp(createApp(), options).configure(rest())
app.use('slow', {
  get: async (id: string) => delay(slowMs, { id }),
  teardown: async () => console.log('torn down'),
})
app.use('stuck', { get: () => new Promise(() => undefined) })

process.once('SIGTERM', () => {
  app.close().catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
})

const server = await app.listen(0)
console.log((server.address() as AddressInfo).port)

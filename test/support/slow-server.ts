// A program that serves until SIGTERM, for tests that end processes. Prints its port when it is
// ready, and a line for each call that arrives. The argument is JSON: the options of the server.
import type { AddressInfo } from 'node:net'
import type { FastifyAppOptions } from '../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { Gate } from './gate.ts'
import { until } from './until.ts'

const options: FastifyAppOptions = JSON.parse(process.argv[2] ?? '{}')

const app = fastifyApp(createApp(), options).configure(rest())
const gate = new Gate()
app.use('slow', {
  get: async (id: string) => {
    console.log(`arrived: slow ${id}`)
    return gate.pass({ id })
  },
  teardown: async () => console.log('torn down'),
})
app.use('stuck', {
  get: (id: string) => {
    console.log(`arrived: stuck ${id}`)
    return new Promise(() => undefined)
  },
})

process.once('SIGTERM', () => {
  app.close().catch((error: Error) => {
    console.error(error.message)
    process.exitCode = 1
  })
  // The slow calls take until the port is closed.
  void until(() => !server.listening).then(() => gate.open())
})

const server = await app.listen(0)
console.log((server.address() as AddressInfo).port)

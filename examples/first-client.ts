// The first lines of docs/reference/client.md: a server, and a typed client of it. Ends by itself.
// `npx tsx node_modules/remex/examples/first-client.ts`.
import type { AddressInfo } from 'node:net'
import { createApp, fastifyApp, rest } from 'remex'
import { createClient } from 'remex/client'

// The server

const messages = {
  find: async () => [{ text: 'Hello', at: new Date() }],
  create: async ({ text }: { text: string }) => ({ text, at: new Date() }),
}

interface Services {
  messages: typeof messages
}

const app = fastifyApp(createApp<Services>())
app.configure(rest())
app.use('messages', messages)
const server = await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = server.address() as AddressInfo

// The client, which can run anywhere

const client = createClient<Services>({ baseURL: `http://127.0.0.1:${port}` })
const { text, at } = await client.service('messages').create({ text: 'Hi' })
// JSON has no dates, so `at` is a string here, also in its type.
console.log(text, at.slice(0, 4))
await app.close()

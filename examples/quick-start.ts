// The first code of the README: `npx tsx node_modules/remex/examples/quick-start.ts`.
import { createApp, fastifyApp, rest } from 'remex'

const messages = {
  find: async () => [{ id: 1, text: 'Hello' }],
  get: async (id: string) => ({ id, text: `Message ${id}` }),
  create: async (data: { text: string }) => ({ id: 2, ...data }),
}

const app = fastifyApp(createApp<{ messages: typeof messages }>())
app.configure(rest())
app.use('messages', messages)
app.service('messages').on('created', ({ text }) => console.log(text))
await app.listen(Number(process.env['PORT'] ?? 3030))

// The options of a server in one place: `npx tsx node_modules/remex/examples/rest.ts`, after
// `npm install @fastify/compress @fastify/static`.
import { fileURLToPath } from 'node:url'
import type { Formatter, Params } from 'remex'
import {
  compress,
  cors,
  createApp,
  errorHandler,
  fastifyApp,
  json,
  NotAcceptable,
  NotFound,
  notFound,
  rest,
  serveStatic,
} from 'remex'

const books = [
  { id: 1, title: 'Flatland' },
  { id: 2, title: 'Ulysses' },
]

const bookService = {
  find: async () => books,
  get: async (id: string) => {
    const book = books.find((one) => one.id === Number(id))
    if (book === undefined) throw new NotFound(`No book ${id}`)
    return book
  },
}

const letterService = {
  archived: new Set<string>(),
  async find() {
    return [...this.archived]
  },
  async archive({ id }: { id: string }) {
    this.archived.add(id)
    return { id }
  },
}

const app = fastifyApp(createApp(), {
  logger: { level: process.env['LOG_LEVEL'] ?? 'warn' },
  requestTimeout: 20_000,
  headersTimeout: 5_000,
  closeDelayMs: 0,
  closeTimeoutMs: 5_000,
})

// Sends the requested format. Without a formatter, all responses are JSON.
const negotiate: Formatter = (request, reply) => {
  const { accept = '*/*' } = request.headers
  if (accept.includes('text/csv')) {
    const records = [reply.data].flat() as object[]
    const rows = records.map((record) => Object.values(record).join(','))
    return reply.type('text/csv').send(rows.join('\n'))
  }
  if (/json|\*\/\*/.test(accept)) return reply.send(reply.data)
  throw new NotAcceptable('Supported: application/json, text/csv')
}

app.configure(rest({ formatter: negotiate, query: { arrayLimit: 100 }, handlerTimeoutMs: 10_000 }))
app.configure(json({ maxDepth: 20 }))
app.configure(
  errorHandler({
    html: {
      404: (_error, _request, reply) => reply.send('Not here'),
    },
  }),
)
app.configure(notFound({ verbose: true }))
app.configure(cors({ origin: ['https://app.example'] }))
app.configure(compress())
const root = fileURLToPath(new URL('../../docs', import.meta.url))
app.configure(serveStatic({ root, prefix: '/docs/' }))

app.use('books', bookService)

// Callers reach the methods that are listed, and no others.
app.use('letters', letterService, { methods: ['find', 'archive'] })

// The signal aborts when the client disconnects or the time is up.
// Pass it only to reads.
app.use('prices', {
  get: async (id: string, { signal }: Params) => {
    const url = `https://prices.example/${id}`
    const response = await fetch(url, { signal: signal ?? null })
    return response.json()
  },
})

// This must succeed before the server counts as ready.
app.readiness.set('prices', async () => bookService.find())

const { PORT = '3030', HOST = '127.0.0.1' } = process.env
await app.listen({ port: Number(PORT), host: HOST })

// Services may come and go while the server runs.
app.use('magazines', { find: async () => [{ id: 1, title: 'Nature' }] })
await app.unuse('prices')

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    // Rejects when requests had to be cut off.
    app.close().catch((error: Error) => {
      console.error(error.message)
      process.exitCode = 1
    })
  })
}

console.log(`Try

  curl -H 'accept: text/csv' http://${HOST}:${PORT}/books
  curl http://${HOST}:${PORT}/magazines
  curl -H 'x-service-method: archive' --json '{"id":"1"}' http://${HOST}:${PORT}/letters
  curl http://${HOST}:${PORT}/health/ready
  curl http://${HOST}:${PORT}/docs/reference/rest.md`)

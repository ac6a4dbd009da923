// Functions before and after services: `npx tsx node_modules/remex/examples/middleware.ts`, after
// `npm install @fastify/middie`.
import middie from '@fastify/middie'
import type { Middleware, Params } from 'remex'
import { createApp, Forbidden, fastifyApp, rest } from 'remex'

interface NoteParams extends Params {
  /** Set by middleware, and part of the service's params. */
  tenant?: string
}

const notes = {
  get: async (id: string, { tenant }: NoteParams) => ({ id, tenant }),
  find: async ({ tenant }: NoteParams) => [{ id: '1', tenant }],
}

const app = fastifyApp(createApp())
app.configure(rest())

// Before every request: request.feathers becomes part of the params.
app.use((request) => {
  request.feathers['tenant'] = request.headers['x-tenant'] ?? 'public'
})

// Before every request at or below a path; an error ends the request.
app.use('/admin', async (request) => {
  const admin = request.headers['x-admin']
  if (admin !== 'yes') throw new Forbidden('For administrators')
})

// A function with three arguments must call done().
const measure: Middleware = (_request, reply, done) => {
  reply.header('x-started', Date.now())
  done()
}

// After the service: reply.data will be sent, reply.hook is the context.
const addPath: Middleware = (_request, reply) => {
  reply.data = { path: reply.hook?.path, notes: reply.data }
}

app.use('notes', measure, notes, addPath)
app.use('admin/notes', { find: notes.find })

// Middleware in the style of Connect and Express gets the request and response of Node.
app.fastify.register(middie).after(() => {
  app.fastify.use((_request, response, next) => {
    response.setHeader('x-powered-by-connect', 'yes')
    next()
  })
})

const { PORT = '3030', HOST = '127.0.0.1' } = process.env
await app.listen({ port: Number(PORT), host: HOST })
console.log(`Try

  curl -i -H 'x-tenant: acme' http://${HOST}:${PORT}/notes/1
  curl -i http://${HOST}:${PORT}/admin/notes`)

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close())

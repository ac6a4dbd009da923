// Services in a Fastify application that has its own login: its sessions become `params.user`.
// `npx tsx node_modules/remex/examples/host-login.ts`. Reads PORT (3030) and HOST (127.0.0.1).
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import type { AroundHook, Params } from 'remex'
import remex, { createApp, NotAuthenticated } from 'remex'

interface User {
  readonly name: string
}

/** The login of the application: it stands for yours. */
const sessions = new Map<string, User>()

function findUser({ headers }: FastifyRequest): User | undefined {
  const [, id = ''] = /(?:^|; )sid=([^;]+)/.exec(headers.cookie ?? '') ?? []
  return sessions.get(id)
}

/** Rejects external callers that the application has not logged in. */
const requireUser: AroundHook = async ({ params }, next) => {
  if (params.provider !== undefined && params.user === undefined) {
    throw new NotAuthenticated('Log in first')
  }
  await next()
}

const app = createApp().use('notes', {
  find: async ({ user }: Params) => [{ text: `A note of ${(user as User).name}` }],
})
app.service('notes').hooks({ around: { all: [requireUser] } })

/** Returns the server, with its own routes. */
export function createHost(): FastifyInstance {
  const server = fastify()
  server.post('/login', async ({ body }, reply) => {
    const id = randomUUID()
    sessions.set(id, { name: String((body as { name?: unknown }).name) })
    reply.header('set-cookie', `sid=${id}; Path=/; HttpOnly; SameSite=Lax`)
    return { loggedIn: true }
  })
  server.register(async (scope) => {
    // What is in request.feathers becomes a part of the params.
    scope.addHook('preHandler', async (request) => {
      request.feathers['user'] = findUser(request)
    })
    await scope.register(remex, { app, prefix: '/api' })
  })
  return server
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1' } = process.env
  await createHost().listen({ port: Number(PORT), host: HOST })
  console.log(`Try, with the cookie of the first:

  curl -i http://${HOST}:${PORT}/login -H 'content-type: application/json' -d '{"name":"Ada"}'
  curl http://${HOST}:${PORT}/api/notes -b sid=…

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

// A server that renders pages, as Next.js, Nuxt and SvelteKit do, in front of services: the browser has a cookie, and the
// services get its token. `npx tsx node_modules/remex/examples/server-rendering.ts`. Reads PORT (3000), HOST
// (127.0.0.1) and SERVICES_URL (http://127.0.0.1:3030, where examples/authentication.ts listens).
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import { createClient } from 'remex/client'
import { NotAuthenticated } from 'remex/errors'

interface Note {
  readonly _id: string
  readonly text: string
}

interface Services {
  readonly notes: { find(params?: object): Promise<readonly Note[]> }
  readonly authentication: { create(data: object): Promise<{ readonly accessToken: string }> }
}

const { SERVICES_URL = 'http://127.0.0.1:3030' } = process.env

/** One client for all requests: it holds no token. */
const client = createClient<Services>({ baseURL: SERVICES_URL })

/** Resolves to the page of the caller with this token: what a server component does. */
export async function renderNotes(token: string | undefined): Promise<string> {
  const login = '<p>Log in first</p>'
  if (token === undefined) return login
  const headers = { authorization: `Bearer ${token}` }
  try {
    const notes = await client.service('notes').find({ headers })
    return `<ul>${notes.map(({ text }) => `<li>${toHtml(text)}</li>`).join('')}</ul>`
  } catch (error) {
    if (error instanceof NotAuthenticated) return login
    throw error
  }
}

function toHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Headers that pass. Others, such as cookies and those about the encoding of the body, do not. */
const REQUEST_HEADERS = ['accept', 'content-type', 'if-match', 'last-event-id', 'x-service-method']
const RESPONSE_HEADERS = ['cache-control', 'content-disposition', 'content-type', 'etag', 'vary']

function pickHeaders(from: Headers, names: readonly string[]): Headers {
  return new Headers(
    names.flatMap((name): [string, string][] => {
      const value = from.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

/** Sends a request below `/api` to the services, with the token of the cookie: what a route handler does. */
export async function forward(request: Request, token: string | undefined): Promise<Response> {
  const from = new URL(request.url)
  // Not by joining strings: the path must never become a part of the host.
  const url = new URL(SERVICES_URL)
  url.pathname = from.pathname.replace(/^\/api(?=\/)/, '')
  url.search = from.search
  const headers = pickHeaders(request.headers, REQUEST_HEADERS)
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  const { method, signal } = request
  const body = request.body === null ? null : await request.text()
  // The signal ends a live query when the browser leaves.
  const response = await fetch(url, { method, headers, body, signal })
  const { status, headers: answered } = response
  return new Response(response.body, { status, headers: pickHeaders(answered, RESPONSE_HEADERS) })
}

function readToken({ headers }: FastifyRequest): string | undefined {
  return /(?:^|; )token=([^;]+)/.exec(headers.cookie ?? '')?.[1]
}

/** Returns the server of the pages. */
export function createPages(): FastifyInstance {
  // Otherwise closing would wait for live queries, which do not end.
  const server = fastify({ forceCloseConnections: true })
  server.get('/', async (request, reply) => {
    reply.type('text/html')
    return renderNotes(readToken(request))
  })
  server.post('/login', async (request, reply) => {
    const { email, password } = request.body as Record<string, unknown>
    const login = { strategy: 'local', email, password }
    const { accessToken } = await client.service('authentication').create(login)
    reply.header('set-cookie', `token=${accessToken}; Path=/; HttpOnly; Secure; SameSite=Lax`)
    return { loggedIn: true }
  })
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'string' },
      async (_request: FastifyRequest, body: string) => body,
    )
    scope.all('/api/*', async (request, reply) => {
      const { method, url, headers, body } = request
      const left = new AbortController()
      reply.raw.once('close', () => left.abort())
      const init = { method, headers: headers as Record<string, string>, signal: left.signal }
      const sent = body === undefined ? init : { ...init, body: String(body) }
      return forward(new Request(`http://pages${url}`, sent), readToken(request))
    })
  })
  return server
}

async function main(): Promise<void> {
  const { PORT = '3000', HOST = '127.0.0.1' } = process.env
  await createPages().listen({ port: Number(PORT), host: HOST })
  console.log(`Pages at http://${HOST}:${PORT} with notes of ${SERVICES_URL}. Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

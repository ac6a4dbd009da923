import type { ServerResponse } from 'node:http'
import middie from '@fastify/middie'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import t from 'tap'
import type { Application, Params } from '../../src/transport/index.ts'
import { createApp, fastifyApp, remex, rest } from '../../src/transport/index.ts'
import type { TestScope } from '../support/http.ts'
import { createRandom, createSpellings } from '../support/odd-paths.ts'
import { openHost } from '../support/own-server.ts'
import type { LineAnswer } from '../support/pipeline.ts'
import { sendLines } from '../support/pipeline.ts'

const PATHS = ['admin', 'users', 'users/:userId/keys', ':tenant/late', 'x/admin']

/** Longer ids would go by other routes; that is seen elsewhere. */
const routerOptions = { maxParamLength: 500 }

/** Fastify's types have it at the top alone, where middie does not see it. */
const SEMICOLON = { useSemicolonDelimiter: true } as object

interface Setting {
  readonly options?: FastifyServerOptions
  readonly prefix?: string
}

/** How a server may read paths, and what may stand before those of the services. */
const SETTINGS: Readonly<Record<string, Setting>> = {
  'without options': {},
  'caseSensitive: false': { options: { routerOptions: { caseSensitive: false } } },
  ignoreTrailingSlash: { options: { routerOptions: { ignoreTrailingSlash: true } } },
  ignoreDuplicateSlashes: { options: { routerOptions: { ignoreDuplicateSlashes: true } } },
  useSemicolonDelimiter: { options: { routerOptions: SEMICOLON } },
  'all options': {
    options: {
      routerOptions: {
        caseSensitive: false,
        ignoreTrailingSlash: true,
        ignoreDuplicateSlashes: true,
        ...SEMICOLON,
      },
    },
  },
  rewriteUrl: { options: { rewriteUrl: ({ url = '' }) => url.replace('/x/', '/') } },
  'a prefix': { prefix: '/api/v1' },
  'placeholders in the prefix': { prefix: '/t/:org/v:version' },
}

/** Tells who was reached: the path of the service, the id, and the route values. */
function createService(path: string): object {
  const find = async ({ route }: Params) => ({ path, id: null, route: { ...route } })
  const get = async (id: string, { route }: Params) => ({ path, id, route: { ...route } })
  return { find, get }
}

function addServices(app: Application): Application {
  for (const path of PATHS) app.use(path, createService(path))
  return app
}

/** The same paths as routes of Fastify, that tell the same. */
function addRoutes(server: FastifyInstance, { options, prefix = '' }: Setting): void {
  for (const path of PATHS) {
    for (const url of [`${prefix}/${path}`, `${prefix}/${path}/:__id`]) {
      const forms = options?.routerOptions?.ignoreTrailingSlash ? [url] : [url, `${url}/`]
      for (const form of forms) {
        server.get(form, async (request) => {
          const { __id: id = null, ...route } = request.params as Record<string, string>
          return { path, id, route }
        })
      }
    }
  }
}

type Ask = (lines: readonly string[]) => Promise<LineAnswer[]>

async function open(
  t: TestScope,
  { options }: Setting,
  build: (server: FastifyInstance) => unknown,
): Promise<Ask> {
  const server = openHost(t, {
    ...options,
    routerOptions: { ...routerOptions, ...options?.routerOptions },
  })
  await build(server)
  await server.listen({ port: 0, host: '127.0.0.1' })
  const { port } = server.server.address() as { port: number }
  return (lines) => sendLines(port, lines)
}

function register(server: FastifyInstance, prefix: string): unknown {
  return server.register(remex, { app: addServices(createApp()), prefix })
}

/** Middleware of the host, by path. */
function openBehindMiddie(t: TestScope, setting: Setting): Promise<Ask> {
  const { prefix = '' } = setting
  return open(t, setting, async (server) => {
    await server.register(middie)
    for (const path of PATHS) {
      // A placeholder of middie is a whole segment.
      const url = `${prefix.replace('v:version', ':version')}/${path}`
      server.use(url, (_request: unknown, response: ServerResponse) =>
        response.writeHead(403, { 'content-length': 0 }).end(),
      )
    }
    await register(server, prefix)
  })
}

/** A hook of the host, by the configuration of the routes. */
function openBehindHook(t: TestScope, setting: Setting): Promise<Ask> {
  return open(t, setting, (server) => {
    server.addHook('onRequest', async ({ routeOptions }, reply) => {
      const { service } = routeOptions.config as { service?: string }
      return service === undefined ? undefined : reply.code(403).send({})
    })
    return register(server, setting.prefix ?? '')
  })
}

/** Functions of the application, with services from the start or later ones. */
function openBehindFunctions(t: TestScope, setting: Setting, isLate: boolean): Promise<Ask> {
  return open(t, setting, async (server) => {
    const app = fastifyApp(createApp(), server).configure(rest())
    for (const path of PATHS) {
      app.use(`/${path}`, (_request, reply) => reply.code(403).send({}))
    }
    if (isLate) await server.ready()
    addServices(app)
  })
}

/** Targets that Fastify takes for paths and we don't are told apart: nothing is reached by them. */
const isPath = (target: string): boolean => /^(?:\/|https?:\/\/)/i.test(target)

/** What an answer says was reached; an empty value addresses nobody, and so nothing is. */
function toReached({ status, body }: LineAnswer): string | null {
  if (status !== 200) return null
  const { path, id, route } = JSON.parse(body)
  if (id === '' || Object.values(route).includes('')) return null
  return JSON.stringify([path, id, Object.entries(route).sort()])
}

const COUNT = 800

for (const [title, setting] of Object.entries(SETTINGS)) {
  const { prefix = '' } = setting
  const base = prefix.replace(':org', 'acme').replace(':version', '2')
  const paths = ['/admin', '/admin/1', '/users/7', '/users/7/keys/3', '/acme/late/1', '/x/admin']
  const plain = paths.map((path) => `${base}${path}`)
  const spellings = createSpellings(plain, COUNT, createRandom(title.length))
  const targets = [...new Set([...plain, ...spellings])]
  const lines = targets.map((target) => `GET ${target}`)

  t.test(`a spelling reaches what Fastify routes it to, ${title} (HTTP-14)`, async (t) => {
    const askPlain = await open(t, setting, (server) => addRoutes(server, setting))
    const expected = (await askPlain(lines)).map(toReached)
    const askEarly = await open(t, setting, (server) => register(server, prefix))
    const late = createApp()
    const askLate = await open(t, setting, async (server) => {
      await server.register(remex, { app: late, prefix })
      await server.ready()
      addServices(late)
    })
    for (const ask of [askEarly, askLate]) {
      const reached = (await ask(lines)).map(toReached)
      const others = targets.flatMap((target, index) => {
        const wanted = isPath(target) ? expected[index] : null
        return reached[index] === wanted ? [] : [{ target, reached: reached[index], wanted }]
      })
      t.strictSame(others, [])
    }
    const count = expected.filter((reached) => reached !== null).length
    t.ok(count > 20 && count < targets.length - 50, `${count} of ${targets.length}`)
  })

  t.test(`guards see what reaches a service, ${title} (HTTP-14)`, async (t) => {
    const ask = await open(t, setting, (server) => register(server, prefix))
    const reached = (await ask(lines)).map(toReached)
    const guarded = await Promise.all([
      openBehindMiddie(t, setting),
      openBehindHook(t, setting),
      // Applications have no prefix.
      ...(prefix === '' ? [openBehindFunctions(t, setting, false)] : []),
      ...(prefix === '' ? [openBehindFunctions(t, setting, true)] : []),
    ])
    for (const askGuarded of guarded) {
      const answers = await askGuarded(lines)
      const passed = targets.filter(
        (_target, index) => reached[index] !== null && answers[index]?.status !== 403,
      )
      t.strictSame(passed, [])
    }
  })
}

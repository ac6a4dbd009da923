import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import type { OpenApiDocument } from './document.ts'
import { createDocument, OPENAPI_VERSION } from './openapi-document.ts'
import type { ResolvedOpenApiOptions } from './openapi-options.ts'

/** What `@fastify/swagger` gives a server. */
interface WithSwagger {
  swagger(): unknown
}

type RouteHook = (this: FastifyInstance, route: RouteOptions) => void

/** Collects the routes that a server gets before the plugin is loaded that documents them. */
export class EarlyRoutes {
  readonly #routes: RouteOptions[] = []
  #isOver = false

  /** Collects the routes of a server from now on. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      if (!this.#isOver) this.#routes.push(route)
    })
  }

  /**
   * Has a plugin see the routes that were there before it, by the hook that it adds for routes. It is
   * loaded only when the server starts, and by then applications have added their routes.
   */
  async replay(server: FastifyInstance, load: () => PromiseLike<unknown>): Promise<void> {
    this.#isOver = true
    const { addHook } = server
    const seeing = function (this: FastifyInstance, name: string, hook: RouteHook) {
      if (name === 'onRoute') for (const route of routes) hook.call(server, route)
      return (addHook as (...values: unknown[]) => FastifyInstance).call(this, name, hook)
    }
    const routes = this.#routes
    server.addHook = seeing as FastifyInstance['addHook']
    try {
      await load()
    } finally {
      server.addHook = addHook
    }
  }
}

/** Has `@fastify/swagger` document the routes of a server, unless somebody has done so. */
export async function documentRoutes(
  server: FastifyInstance,
  early: EarlyRoutes,
  { info, servers }: ResolvedOpenApiOptions,
): Promise<void> {
  if (server.hasDecorator('swagger')) return
  // Loaded only where it is wanted, as `openapi()` is by few servers.
  const { default: swagger } = await import('@fastify/swagger')
  const members = { openapi: OPENAPI_VERSION, info, ...(servers && { servers }) }
  await early.replay(server, async () =>
    server.register(swagger, {
      openapi: members as object,
      transform: ({ schema, url, route }) => ({ schema: isProbe(route) ? HIDDEN : schema, url }),
    }),
  )
}

/** Returns the document of the routes that a server has beside those of services. */
export function readRoutes(
  server: FastifyInstance,
  { info, servers }: ResolvedOpenApiOptions,
): OpenApiDocument {
  const document = (server as unknown as WithSwagger).swagger() as Partial<OpenApiDocument>
  const own = createDocument({ info, ...(servers && { servers }) })
  // A server that documents its routes by itself may do so in an older version. Of that before 3.0
  // nothing fits.
  if (document.openapi === undefined) return own
  return { ...own, ...document, openapi: OPENAPI_VERSION, info }
}

/** Keeps the routes of a scope out of the document of the server: services are documented as such. */
export function hideRoutes(scope: FastifyInstance): void {
  if (!scope.hasDecorator('swagger')) return
  scope.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, ...HIDDEN }
  })
}

const HIDDEN: FastifySchema = Object.freeze({ hide: true })

function isProbe({ config }: RouteOptions): boolean {
  return (config as { readonly isProbe?: boolean } | undefined)?.isProbe === true
}

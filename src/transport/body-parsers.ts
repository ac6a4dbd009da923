import type { FastifyInstance, preParsingHookHandler } from 'fastify'
import { ArgumentError } from '../core/errors/setup-errors.ts'
import type { ServiceEntry } from '../core/index.ts'
import type { Middleware } from './middleware.ts'
import { createUnsupportedType } from './parsing/request-body.ts'
import type { RestTransport } from './rest-transport.ts'

/** Adds body parsers to the scope of one service's routes. */
export type BodyParserPlugin = (routes: FastifyInstance) => unknown

/** The key of the plugin, on a part of `app.use()` and on the entry of its service. */
const PLUGINS: unique symbol = Symbol('remex.bodyParsers')

type Part = Middleware & { readonly [PLUGINS]?: BodyParserPlugin }

/**
 * Returns a part of `app.use()` that lets one service accept other types of bodies, with content type parsers of
 * Fastify: `app.use('uploads', bodyParsers((routes) => routes.register(multipart)), uploads)`. Other services still
 * return 415.
 * @throws {TypeError} `plugin` is not a function
 */
export function bodyParsers(plugin: BodyParserPlugin): Middleware {
  if (typeof plugin !== 'function') {
    throw new ArgumentError('bodyParsers() takes a function (routes) that registers parsers')
  }
  const part: Middleware = () => undefined
  return Object.assign(part, { [PLUGINS]: plugin })
}

/** Splits functions around a service into the plugins of {@link bodyParsers} and the others. */
export function splitParsers(functions: readonly Part[]): {
  readonly plugins: readonly BodyParserPlugin[]
  readonly others: readonly Middleware[]
} {
  const others = functions.filter((one) => one[PLUGINS] === undefined)
  return { plugins: functions.flatMap((one) => one[PLUGINS] ?? []), others }
}

/** Stores the plugins that add the parsers of a service. */
export function setParsers(
  { attachments }: Pick<ServiceEntry, 'attachments'>,
  plugins: readonly BodyParserPlugin[],
): void {
  if (plugins.length === 0) return
  attachments.set(PLUGINS, [...((attachments.get(PLUGINS) ?? []) as typeof plugins), ...plugins])
}

/** Opens a scope for each service with its own parsers. Resolves to a function that returns the scope of a service. */
export async function openParserScopes(
  transport: RestTransport,
  scope: FastifyInstance,
): Promise<(entry: ServiceEntry) => FastifyInstance> {
  const scopes = new Map<ServiceEntry, FastifyInstance>()
  for (const entry of transport.app.entries.values()) {
    const plugins = entry.attachments.get(PLUGINS) as readonly BodyParserPlugin[] | undefined
    if (plugins === undefined || scopes.has(entry)) continue
    await scope.register(async (routes) => {
      routes.addHook('preParsing', checkService(transport, entry))
      for (const plugin of plugins) await plugin(routes)
      scopes.set(entry, routes)
    })
  }
  return (entry) => scopes.get(entry) ?? scope
}

/** The types that every service accepts. */
const COMMON_TYPES: readonly unknown[] = ['application/json', 'application/x-www-form-urlencoded']

/** Rejects all other bodies if another service now has the path of the one with the parsers. */
function checkService({ router }: RestTransport, entry: ServiceEntry): preParsingHookHandler {
  return (request, _reply, payload, done) => {
    const { mediaType = COMMON_TYPES[0] } = request
    if (COMMON_TYPES.includes(mediaType) || router.find(request.raw.url ?? '')?.entry === entry) {
      done(null, payload)
    } else done(createUnsupportedType())
  }
}

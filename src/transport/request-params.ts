import { getEventListeners } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type {
  AuthenticationRequest,
  DeclaredUser,
  Headers,
  HookContext,
  Params,
  Query,
} from '../core/index.ts'
import { BadRequest } from '../core/index.ts'
import type { TransportFacts, TransportParams } from '../core/transport-facts.ts'
import { EVENT_STREAM, REPEATED, TRANSPORT_FACTS } from '../core/transport-facts.ts'
import { isGone } from './replies/reply-state.ts'

/** What middleware puts into the params of a call: `request.feathers.tenant = …`. */
export interface FeathersParams {
  [name: string]: unknown
  /** Who calls, as in `params.user`: there once `authenticateRequest` has let a request pass. */
  user?: DeclaredUser | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Becomes part of the params of the service call behind this request. */
    feathers: FeathersParams
  }
  interface FastifyReply {
    /** What a service call answers; functions after the service may replace it. */
    data: unknown
    /** The context of the service call, `null` before it. */
    hook: HookContext | null
  }
}

const FEATHERS_PARAMS: unique symbol = Symbol('remex.feathersParams')

type WithFeathersParams = FastifyRequest & { [FEATHERS_PARAMS]?: FeathersParams }

/** Adds `request.feathers`, `reply.data` and `reply.hook` to a server that lacks them. */
export function addDecorators(server: FastifyInstance): void {
  if (server.hasRequestDecorator('feathers')) return
  // An accessor: no object may be shared by requests, and most requests need none.
  server.decorateRequest('feathers', {
    getter(this: WithFeathersParams): FeathersParams {
      this[FEATHERS_PARAMS] ??= { provider: 'rest' }
      return this[FEATHERS_PARAMS]
    },
    setter(this: WithFeathersParams, value: FeathersParams) {
      this[FEATHERS_PARAMS] = value
    },
  })
  server.decorateReply('data', null)
  server.decorateReply('hook', null as FastifyReply['hook'])
}

/** Returns what stands in `request.feathers`, `null` when nobody touched it. */
export function getFeathersParams(request: WithFeathersParams): FeathersParams | null {
  return request[FEATHERS_PARAMS] ?? null
}

/** What params say of the call behind a request, beside what they have of their own. */
const FACTS = ['signal', 'requestId', 'requestUrl', 'requestMethod', 'address'] as const

/** The facts as properties of the params that carry them; not enumerable, so that a copy computes none. */
const FACT_GETTERS: Readonly<PropertyDescriptorMap> = Object.fromEntries(
  FACTS.map((name) => [
    name,
    {
      configurable: true,
      get(this: { readonly [TRANSPORT_FACTS]?: RequestFacts }): unknown {
        return this[TRANSPORT_FACTS]?.[name]
      },
    },
  ]),
)

/** Whether only the server may state this: middleware can't set it. */
function isFact(name: string): boolean {
  return (FACTS as readonly string[]).includes(name)
}

/** What the server knows of the call behind one request. */
export class RequestFacts implements TransportFacts {
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  databaseCalls = 0
  #controller: AbortController | null = null
  /** Listens for the end of the connection. */
  #tell: (() => void) | undefined

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#request = request
    this.#reply = reply
  }

  /**
   * Aborts when the client goes away or the call takes too long; for reads only. It is created only for
   * calls that use it.
   */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      const controller = new AbortController()
      this.#controller = controller
      this.watchClient(() => controller.abort(new BadRequest('The client has gone')))
    }
    return this.#controller.signal
  }

  /** Calls a function if the client goes away before the call is answered, or has gone. */
  protected watchClient(onGone: () => void): void {
    const { raw } = this.#reply
    // Node's request closes as soon as its body is read; its response only with the connection.
    const tell = (): void => {
      if (!raw.writableEnded) onGone()
    }
    this.#tell = tell
    if (isGone(raw)) tell()
    else raw.once('close', tell)
  }

  /** Frees a signal that nothing listens to. Who asks later gets a new one. */
  release(): void {
    const signal = this.#controller?.signal
    if (signal === undefined || signal.aborted) return
    if (getEventListeners(signal, 'abort').length > 0) return
    if (this.#tell !== undefined) this.#reply.raw.off('close', this.#tell)
    this.#controller = null
  }

  carry(from: Params, to: Params): void {
    if (from.headers !== to.headers || !Object.isExtensible(to)) return
    Object.defineProperty(to, TRANSPORT_FACTS, { configurable: true, value: this })
    for (const name of FACTS) {
      if (!(name in to)) Object.defineProperty(to, name, FACT_GETTERS[name] ?? {})
    }
    for (const mark of [REPEATED, EVENT_STREAM] as const) {
      if ((from as TransportParams)[mark]) Object.assign(to, { [mark]: true })
    }
  }

  /** Aborts the signal, also for those who ask for it later. */
  abort(reason: unknown): void {
    this.#controller ??= new AbortController()
    this.#controller.abort(reason)
  }

  /** The id of the request, as it stands in the log. */
  get requestId(): string {
    return this.#request.id
  }

  /** The network address of the client. */
  get address(): string {
    return this.#request.ip
  }

  /**
   * The URL that the client has reached; behind a proxy that is trusted, the one it was sent to.
   * `undefined` where the request names no valid host, or the proxy no scheme of the web.
   */
  get requestUrl(): string | undefined {
    return toRequestUrl(this.#request)
  }

  /** The HTTP method of the request: a `HEAD` calls what a `GET` does. */
  get requestMethod(): string | undefined {
    return this.#request.method
  }
}

/** Returns the URL of {@link RequestFacts.requestUrl}. */
export function toRequestUrl({ protocol, host, originalUrl }: FastifyRequest): string | undefined {
  const origin = `${protocol}://${host}`
  if (!ORIGIN.test(origin) || !URL.canParse(origin)) return undefined
  // The target of a request may be a whole URL, with a host that nobody has checked.
  return origin + originalUrl.replace(/^https?:\/\/[^/?]*/i, '')
}

/** Scheme, host and perhaps a port, and nothing that would make another part of a URL. */
const ORIGIN = /^https?:\/\/[^\s/?#@\\]+$/i

/**
 * The params of a call that came over a transport: `query`, `headers`, `route`, then whatever `request.feathers` or a
 * connection holds, and `provider` last, so that nothing can turn an outside call into an inside one.
 */
export class ExternalParams implements TransportParams {
  static {
    const facts: PropertyDescriptor & ThisType<ExternalParams> = {
      // `undefined` for an object that only inherits from params.
      get: function getFacts() {
        return #facts in this ? this.#facts : undefined
      },
    }
    Object.defineProperties(ExternalParams.prototype, { ...FACT_GETTERS, [TRANSPORT_FACTS]: facts })
  }

  query: Query
  headers: Headers
  route: Readonly<Record<string, string>>
  declare authentication?: AuthenticationRequest | undefined
  provider: string
  readonly #facts: RequestFacts

  constructor(
    facts: RequestFacts,
    headers: Headers,
    query: Query,
    route: Readonly<Record<string, string>>,
    feathers: FeathersParams | null,
    provider = 'rest',
  ) {
    this.query = query
    this.headers = headers
    this.route = route
    this.provider = provider
    this.#facts = facts
    if (feathers !== null) this.#addFields(feathers)
  }

  /** Adds what middleware or a connection says. Not by `Object.assign`, which is slow where a class has accessors. */
  #addFields(fields: FeathersParams): void {
    const { provider } = this
    for (const name of Object.keys(fields)) {
      if (!isFact(name)) Reflect.set(this, name, fields[name])
    }
    for (const name of Object.getOwnPropertySymbols(fields)) {
      Reflect.set(this, name, Reflect.get(fields, name))
    }
    this.provider = provider
  }
}

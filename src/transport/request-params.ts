import { getEventListeners } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { CallAborted } from '../core/errors/coded-errors.ts'
import type {
  AuthenticationRequest,
  DeclaredUser,
  Headers,
  HookContext,
  Params,
  Query,
} from '../core/index.ts'
import type { TransportFacts, TransportParams } from '../core/transport-facts.ts'
import { EVENT_STREAM, REPEATED, TRANSPORT_FACTS } from '../core/transport-facts.ts'
import { isGone } from './replies/reply-state.ts'

/** The values that middleware adds to the params of a call: `request.feathers.tenant = …`. */
export interface FeathersParams {
  [name: string]: unknown
  /** The caller, as in `params.user`; set once `authenticateRequest` has accepted a request. */
  user?: DeclaredUser | undefined
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Becomes part of the params of the service call behind this request. */
    feathers: FeathersParams
  }
  interface FastifyReply {
    /** The result of a service call; functions after the service may replace it. */
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
  // An accessor: requests may not share an object, and most requests need none.
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

/** Returns the value of `request.feathers`, `null` if it was never used. */
export function getFeathersParams(request: WithFeathersParams): FeathersParams | null {
  return request[FEATHERS_PARAMS] ?? null
}

/** Facts about the call behind a request that params provide in addition to their own fields. */
const FACTS = ['signal', 'requestId', 'requestUrl', 'requestMethod', 'address'] as const

/** The facts as properties of params; not enumerable, so that a copy computes none. */
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

/** Returns whether only the server may set this: middleware cannot. */
function isFact(name: string): boolean {
  return (FACTS as readonly string[]).includes(name)
}

/** The facts that the server knows about the call behind one request. */
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

  /** Aborts when the client leaves or the call takes too long; for reads only. Created only for calls that use it. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      const controller = new AbortController()
      this.#controller = controller
      this.watchClient(() => controller.abort(new CallAborted('The client has gone')))
    }
    return this.#controller.signal
  }

  /** Whether the call took too long, or its client has gone. Unlike `signal`, it creates nothing. */
  get isAborted(): boolean {
    const { raw } = this.#reply
    return this.#controller?.signal.aborted ?? (isGone(raw) && !raw.writableEnded)
  }

  /** Calls a function if the client has left, or leaves before the response to the call. */
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

  /** Releases a signal without listeners. Later readers get a new one. */
  release(): void {
    const signal = this.#controller?.signal
    if (signal === undefined || signal.aborted) return
    if (getEventListeners(signal, 'abort').length > 0) return
    if (this.#tell !== undefined) this.#reply.raw.off('close', this.#tell)
    // It refers to the signal.
    this.#tell = undefined
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

  /** Aborts the signal, also for later readers. */
  abort(reason: unknown): void {
    this.#controller ??= new AbortController()
    this.#controller.abort(reason)
  }

  /** The id of the request, as in the log. */
  get requestId(): string {
    return this.#request.id
  }

  /** The network address of the client. */
  get address(): string {
    return this.#request.ip
  }

  /**
   * The URL that the client requested; behind a trusted proxy, the one sent to the proxy. `undefined` if the request
   * has no valid host, or the proxy no web scheme.
   */
  get requestUrl(): string | undefined {
    return toRequestUrl(this.#request)
  }

  /** The HTTP method of the request: a `HEAD` calls the same method as a `GET`. */
  get requestMethod(): string | undefined {
    return this.#request.method
  }
}

/** Returns the URL of {@link RequestFacts.requestUrl}. */
export function toRequestUrl({ protocol, host, originalUrl }: FastifyRequest): string | undefined {
  const origin = `${protocol}://${host}`
  if (!ORIGIN.test(origin) || !URL.canParse(origin)) return undefined
  // The target of a request may be a full URL, with a host that was never checked.
  return origin + originalUrl.replace(/^https?:\/\/[^/?]*/i, '')
}

/** Scheme, host and optional port, without anything that would start another part of a URL. */
const ORIGIN = /^https?:\/\/[^\s/?#@\\]+$/i

/**
 * The params of a call over a transport: `query`, `headers`, `route`, then the fields of `request.feathers` or a
 * connection, and `provider` last, so that nothing can turn an external call into an internal one.
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

  /**
   * Adds the fields of middleware or a connection. Not with `Object.assign`, which is slow if a class has accessors.
   */
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

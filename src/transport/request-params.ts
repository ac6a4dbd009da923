import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type {
  AuthenticationRequest,
  DeclaredUser,
  Headers,
  HookContext,
  Query,
} from '../core/index.ts'
import { BadRequest } from '../core/index.ts'
import type { TransportParams } from '../core/params.ts'

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

const FEATHERS_PARAMS = Symbol('remex.feathersParams')

interface WithFeathersParams {
  [FEATHERS_PARAMS]?: FeathersParams
}

/**
 * Adds `request.feathers`, `reply.data` and `reply.hook` to a server, if they are not there yet.
 */
export function addDecorators(server: FastifyInstance): void {
  if (server.hasRequestDecorator('feathers')) return
  // An accessor: no object may be shared by requests, and most requests need none.
  server.decorateRequest('feathers', {
    getter(this: FastifyRequest): FeathersParams {
      const request = this as WithFeathersParams
      request[FEATHERS_PARAMS] ??= { provider: 'rest' }
      return request[FEATHERS_PARAMS]
    },
    setter(this: FastifyRequest, value: FeathersParams) {
      ;(this as WithFeathersParams)[FEATHERS_PARAMS] = value
    },
  })
  server.decorateReply('data', null)
  server.decorateReply('hook', null as FastifyReply['hook'])
}

/** Returns what stands in `request.feathers`, `null` when nobody touched it. */
export function getFeathersParams(request: FastifyRequest): FeathersParams | null {
  return (request as WithFeathersParams)[FEATHERS_PARAMS] ?? null
}

/**
 * The params of a call that came over REST: `query`, `headers`, `route`, then whatever
 * `request.feathers` holds, and `provider` last, so that nothing can turn an outside call into an
 * inside one.
 */
export class RestParams implements TransportParams {
  query: Query
  headers: Headers
  route: Readonly<Record<string, string>>
  declare authentication?: AuthenticationRequest | undefined
  provider: string
  readonly #request: FastifyRequest
  readonly #reply: FastifyReply
  #controller: AbortController | null = null

  constructor(
    request: FastifyRequest,
    reply: FastifyReply,
    query: Query,
    route: Readonly<Record<string, string>>,
    feathers: FeathersParams | null,
  ) {
    this.query = query
    this.headers = request.headers
    this.route = route
    this.provider = 'rest'
    this.#request = request
    this.#reply = reply
    if (feathers !== null) {
      Object.assign(this, withoutGetters(feathers), { provider: 'rest' })
    }
  }

  /**
   * Aborts when the client goes away or the call takes too long; for reads only. A getter of the
   * prototype, so that the signal is created only for calls that use it.
   */
  get signal(): AbortSignal | undefined {
    if (!(#reply in this)) return ORIGINALS.get(this)?.signal
    if (this.#controller === null) {
      const controller = new AbortController()
      this.#controller = controller
      const { raw } = this.#reply
      // Node's request closes as soon as its body is read; its response only with the connection.
      const abort = (): void => {
        if (!raw.writableEnded) controller.abort(new BadRequest('The client has gone'))
      }
      if (raw.destroyed) abort()
      else raw.once('close', abort)
    }
    return this.#controller.signal
  }

  /** Aborts the signal of a call, also for those who ask for it later. */
  static abort(params: RestParams, reason: unknown): void {
    params.#controller ??= new AbortController()
    params.#controller.abort(reason)
  }

  /** The id of the request, as it stands in the log. */
  get requestId(): string | undefined {
    return #request in this ? this.#request.id : ORIGINALS.get(this)?.requestId
  }

  /** The network address of the client. */
  get address(): string | undefined {
    return #request in this ? this.#request.ip : ORIGINALS.get(this)?.address
  }

  /**
   * The URL that the client has reached; behind a proxy that is trusted, the one it was sent to.
   * `undefined` where the request names no valid host, or the proxy no scheme of the web.
   */
  get requestUrl(): string | undefined {
    if (!(#request in this)) return ORIGINALS.get(this)?.requestUrl
    const { protocol, host, originalUrl } = this.#request
    const origin = `${protocol}://${host}`
    if (!ORIGIN.test(origin) || !URL.canParse(origin)) return undefined
    // The target of a request may be a whole URL, with a host that nobody has checked.
    return origin + originalUrl.replace(/^https?:\/\/[^/?]*/i, '')
  }

  /** The HTTP method of the request: a `HEAD` calls what a `GET` does. */
  get requestMethod(): string | undefined {
    return #request in this ? this.#request.method : ORIGINALS.get(this)?.requestMethod
  }

  /**
   * Gives a copy the getters of this class, which login limits and the log need whatever hooks have
   * made of the params. They are not enumerable there either. An object without the
   * headers of this request is no copy: it may be shared by many calls.
   */
  completeCopy(copy: { readonly headers?: unknown }): void {
    if (copy.headers !== this.headers || !Object.isExtensible(copy)) return
    const original = ORIGINALS.get(this) ?? this
    if (copy === original) return
    ORIGINALS.set(copy, original)
    if (copy instanceof RestParams) return
    for (const [name, descriptor] of COPIED) {
      if (!Object.hasOwn(copy, name)) Object.defineProperty(copy, name, descriptor)
    }
  }
}

/** Scheme, host and perhaps a port, and nothing that would make another part of a URL. */
const ORIGIN = /^https?:\/\/[^\s/?#@\\]+$/i

/**
 * The original params by the copy that a hook has made of them: a copy may be frozen or have
 * another class.
 */
const ORIGINALS = new WeakMap<object, RestParams>()

/** The getters of the prototype, for copies that have another prototype. */
const COPIED: readonly (readonly [name: string, PropertyDescriptor])[] = [
  ...['signal', 'requestId', 'requestUrl', 'requestMethod', 'address', 'completeCopy'],
].map((name) => [name, Object.getOwnPropertyDescriptor(RestParams.prototype, name) ?? {}])

/** What middleware says can not take the place of what the transport knows. */
function withoutGetters({
  signal: _signal,
  requestId: _id,
  requestUrl: _url,
  requestMethod: _method,
  address: _address,
  ...others
}: FeathersParams): FeathersParams {
  return others
}

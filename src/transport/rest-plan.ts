import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HookContext, MethodEntry, Params, ServiceError } from '../core/index.ts'
import type { BodySerializer } from './replies/body.ts'
import type { ExternalParams, RequestFacts } from './request-params.ts'
import type { RestTransport } from './rest-transport.ts'
import type { ServiceMatch } from './routing/service-router.ts'

/** The target of a request, apart from the method: the id and the route values. */
export type Target = Pick<ServiceMatch, 'id' | 'route'>

/** A request for a service method, as the steps of features see it. */
export interface ServedCall {
  readonly method: MethodEntry
  readonly target: Target
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** The facts about the call; `null` until the request has been read. */
  readonly facts: RequestFacts | null
  /** The context of the call; `null` until the request has been read. */
  readonly context: HookContext | null
  /** The response body, once the call has succeeded. */
  body: unknown
  /** Writes the body as JSON. Default: `JSON.stringify`. */
  serialize: BodySerializer | null
  /** Responds with an error instead of the call, which may continue. */
  failEarly(error: Error): void
  /** Responds with an error. */
  fail(error: unknown): void
  /** Called when the response has started, or a function that got the reply will send it. */
  end(): void
}

/** A call over any transport, as features that watch it see it. */
export type WatchedCall = Pick<
  ServedCall,
  'context' | 'facts' | 'failEarly' | 'method' | 'reply' | 'request'
>

/** Called once when a call ends: the response has started, or a function that got the reply will send it. */
export type CallEnd = (call: WatchedCall) => void

/** A call whose method is about to run, or has run. */
export type ContextCall = ServedCall & { readonly context: HookContext }

/** A call with a stream as its response. */
export type StreamedCall = Pick<ContextCall, 'context' | 'method' | 'reply' | 'request'> & {
  readonly transport: RestTransport
}

/** A media type with which a call can respond instead of JSON: the method itself does not run. */
export interface StreamType {
  readonly mediaType: string
  /** Whether the URL asks for this type, whatever `Accept` says. */
  readonly isChosen?: true
  /** Responds to a call. Resolves when the response has started; rejects with the error to return. */
  readonly open: (call: StreamedCall) => Promise<void>
}

/**
 * The steps that a feature adds to the calls of one method. Steps at the same place run in the order of the list in
 * `rest-features.ts`. An error thrown by a step becomes the response.
 */
export interface RestSteps {
  /** Runs first, before any part of the request is read. Returns a function that is called at the end. */
  readonly watch?: (call: WatchedCall) => CallEnd
  /**
   * Resolves to whether the call continues: the step may have responded. If it need not wait, it returns `undefined`.
   */
  readonly before?: (call: ServedCall) => Promise<boolean> | undefined
  /** Checks the request, before its query is read. */
  readonly check?: (call: ServedCall) => void
  /** Returns the query to continue with, based on the one in the URL. */
  readonly query?: (call: ServedCall, query: ExternalParams['query']) => ExternalParams['query']
  /** Adds to the params. */
  readonly params?: (call: ServedCall, params: Params) => void
  /** Returns the streams that can replace the method. `Accept` decides, unless the URL names one. */
  readonly streams?: (call: ContextCall) => readonly StreamType[]
  /** Sets headers of the response, after its status. */
  readonly headers?: (call: ContextCall) => void
  /** Changes the body, or responds itself. Resolves to whether the response must still be sent. */
  readonly transform?: (call: ContextCall) => Promise<boolean>
  /** Sets headers of the response to a failed call. */
  readonly errorHeaders?: (call: ServedCall, error: ServiceError) => void
  /** Runs last. Returns whether the body must still be sent. */
  readonly beforeSend?: (call: ContextCall) => boolean
}

/**
 * A part of the transport that not every method needs. It is called once for each method of a service, and again when
 * hooks change. It returns `null` if the method does not need it.
 */
export type RestFeature = (
  method: MethodEntry,
  transport: RestTransport,
) => RestSteps | readonly RestSteps[] | null

/** The steps of all features for one method. */
export type RestPlan = {
  readonly [Place in keyof RestSteps]-?: readonly NonNullable<RestSteps[Place]>[]
} & {
  readonly method: MethodEntry
  readonly transport: RestTransport
  /** Whether the service logs users in. */
  readonly isLogin: boolean
  /** Returns the plan of the method with its current hooks. */
  latest(): RestPlan
  /** Starts the call, with the hooks that the method had when the plan was created. */
  readonly start: MethodEntry['start']
}

/** Returns whether a method only reads. */
export function isRead({ spec }: MethodEntry): boolean {
  return spec.verb === 'GET'
}

/** The plans of all methods that an application serves in one scope of Fastify. */
export class RestPlans {
  readonly transport: RestTransport
  readonly #features: readonly RestFeature[]
  readonly #plans = new Map<MethodEntry, RestPlan>()

  /** @param features in the order in which their steps run */
  constructor(transport: RestTransport, features: readonly RestFeature[]) {
    this.transport = transport
    this.#features = features
  }

  /** Returns the plan of a method with its current hooks. */
  get(method: MethodEntry): RestPlan {
    const known = this.#find(method)
    if (known !== undefined) return known
    const plan = this.#compile(method)
    this.#plans.set(method, plan)
    return plan
  }

  /** Returns the known plan, unless hooks have changed since. */
  #find(method: MethodEntry): RestPlan | undefined {
    const plan = this.#plans.get(method)
    return plan?.start === method.start ? plan : undefined
  }

  /** Returns the steps before the calls of a service, which are the same for all its methods. */
  listStepsBefore({ methods }: MethodEntry['entry']): RestPlan['before'] {
    const [method] = methods.values()
    return method === undefined ? [] : this.get(method).before
  }

  /** Drops the plans: services were added or removed. */
  clear(): void {
    this.#plans.clear()
  }

  #compile(method: MethodEntry): RestPlan {
    const { transport } = this
    const all = this.#features.flatMap((attach) => attach(method, transport) ?? [])
    const pick = <Place extends keyof RestSteps>(place: Place) =>
      all.flatMap((steps) => steps[place] ?? []) as NonNullable<RestSteps[Place]>[]
    return {
      method,
      transport,
      isLogin: transport.isLogin(method.entry.service),
      // Not kept: the service of a running call may have been removed.
      latest: () => this.#find(method) ?? this.#compile(method),
      start: method.start,
      watch: pick('watch'),
      before: pick('before'),
      check: pick('check'),
      query: pick('query'),
      params: pick('params'),
      streams: pick('streams'),
      headers: pick('headers'),
      transform: pick('transform'),
      beforeSend: pick('beforeSend'),
      errorHeaders: pick('errorHeaders'),
    }
  }
}

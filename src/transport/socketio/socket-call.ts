import type { ErrorJSON, MethodEntry, Query } from '../../core/index.ts'
import {
  BadRequest,
  GeneralError,
  HookContext,
  isStandardMethod,
  MethodNotAllowed,
  NotAuthenticated,
  NotFound,
  stripSlashes,
  TooManyRequests,
  toServiceError,
  Unavailable,
} from '../../core/index.ts'
import { finishCall } from '../../core/services/run-method.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { TimeLimit } from '../call-time-limit.ts'
import { createMessageCheck } from '../parsing/request-body.ts'
import { isSentAsItIs } from '../replies/body.ts'
import { pickResult } from '../replies/result-serializer.ts'
import { SOCKET_FEATURES } from '../rest-features.ts'
import type { CallEnd } from '../rest-plan.ts'
import { isRead } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
import type { ServiceMatch } from '../routing/service-router.ts'
import { ServiceRouter } from '../routing/service-router.ts'
import { toBody } from '../service-reply.ts'
import type { Client, Hub } from './connection.ts'
import { SocketFacts } from './connection.ts'

/** The acknowledgement of a message: `(error)`, or `(null, result)`. */
export type Acknowledge = (error: ErrorJSON | null, result?: unknown) => void

/** One call over a socket, until its response. */
export class SocketCall extends SocketFacts {
  readonly #hub: Hub
  readonly #acknowledge: Acknowledge | null
  #context: HookContext | null = null
  #isAnswered = false

  constructor(hub: Hub, client: Client, acknowledge: Acknowledge | null) {
    super(client)
    this.#hub = hub
    this.#acknowledge = acknowledge
  }

  /** Makes the call that a message asks for, and responds. Never rejects. */
  async run(readMessage: ReadMessage, name: string, values: readonly unknown[]): Promise<void> {
    const { client } = this
    const { transport } = this.#hub
    let timed: ReturnType<TimeLimit['start']> | undefined
    const ends: CallEnd[] = []
    client.calls += 1
    // Methods may continue after their time limit.
    client.unanswered += 1
    try {
      this.#checkLimits()
      const { method, id, data, query, route } = readMessage(name, values)
      const params = this.createParams(query, route)
      const context = new HookContext(method, method.entry.service, id, data, params)
      this.#context = context
      for (const attach of SOCKET_FEATURES) {
        const steps = attach(method, transport)
        if (steps !== null) ends.push(steps.watch())
      }
      timed = transport.timeLimit?.start((limitMs) => this.#timeOut(limitMs, method))
      const pending = method.start(context)
      finishCall(method, context, pending === undefined ? context.result : await pending)
      this.#answer(null, toResult(method, context))
    } catch (thrown) {
      this.#fail(thrown)
    } finally {
      timed?.endWatch()
      this.release()
      client.calls -= 1
      this.#end(ends)
    }
  }

  #end(ends: readonly CallEnd[]): void {
    const { request, reply } = this.client.handshake
    try {
      for (const end of ends) end({ context: this.#context, facts: this, request, reply })
    } catch (failure) {
      // The logger of the application may throw.
      request.log.error({ err: failure }, 'A call could not be logged')
    }
  }

  #checkLimits(): void {
    const { isClosing, maxCalls } = this.#hub
    const { calls, isEnding } = this.client
    if (isClosing) throw new Unavailable('The server is closing')
    if (isEnding)
      throw new NotAuthenticated('The login of this connection has ended. Connect and log in again')
    if (calls <= maxCalls) return
    throw new TooManyRequests(
      `A connection may run ${maxCalls} calls at a time. Wait for one of them`,
    )
  }

  #timeOut(limitMs: number, method: MethodEntry): void {
    const errors = isRead(method) ? null : { errors: { outcome: 'unknown' } }
    const error = new Unavailable(`No answer within ${limitMs} ms`, errors)
    this.abort(error)
    this.#fail(error)
  }

  /** Throws for a result that JSON cannot represent. Then the error is the response. */
  #answer(error: ErrorJSON | null, result?: unknown): void {
    if (this.#isAnswered) return
    // As in Feathers, an error is the only argument.
    if (error === null) this.#acknowledge?.(null, result)
    else this.#acknowledge?.(error)
    this.#isAnswered = true
    this.client.unanswered -= 1
    this.#hub.settle(this.client)
  }

  #fail(thrown: unknown): void {
    if (this.#isAnswered) return
    const { request, reply } = this.client.handshake
    // The log line names its service and method.
    reply.hook = this.#context
    try {
      const { errors } = this.#hub.transport
      this.#answer(errors.tell(toServiceError(thrown), thrown, request, reply))
    } catch (failure) {
      // The logger of the application, or `toJSON` of the error, has thrown.
      request.log.error({ err: failure }, 'The error of a call could not be sent')
      this.#answer(toServiceError(null).toJSON())
    }
  }
}

/** Returns the result of a call as the client gets it. */
export function toResult(method: MethodEntry, { dispatch, result }: HookContext): unknown {
  const body = toBody(dispatch === undefined ? result : dispatch)
  if (!isSentAsItIs(body)) return pickResult(method, body)
  throw new GeneralError(
    'A stream or bytes cannot be sent over a socket. Call the method over REST',
  )
}

/** The longest path or name that an error repeats. */
const LONGEST_NAME = 64

/** A call of a client: `socket.emit('patch', 'messages', 7, { text: 'new' }, {}, callback)`. */
interface Message extends Pick<ServiceMatch, 'route'> {
  readonly method: MethodEntry
  readonly id: string | number | null | undefined
  readonly data: object | undefined
  readonly query: Query
}

/**
 * Returns the call that a message asks for. Its values are a path, then the arguments of the method, with the query in place
 * of the params. Throws `NotFound` if there is no service at the path, `MethodNotAllowed` if the method is not open to
 * external calls, and `BadRequest` if an argument does not fit the method.
 */
export type ReadMessage = (name: string, values: readonly unknown[]) => Message

/** Returns the reader of messages for the services of an application. */
export function createReader({ app, options, routing }: RestTransport): ReadMessage {
  const check = createMessageCheck(options.json ?? {})
  const known = new Map<unknown, ServiceMatch>()
  let router: ServiceRouter | null = null
  app.observe(() => {
    known.clear()
    router = null
  })
  const find = (path: unknown): ServiceMatch => {
    const before = known.get(path)
    if (before !== undefined) return before
    if (typeof path !== 'string') throw new NotFound('Invalid service path')
    router ??= new ServiceRouter(app, routing)
    const found = router.find(toTarget(path))
    if (found === null || found.id !== null) throw new NotFound(`Service${quote(path)} not found`)
    // Other paths are not cached: clients can send any number of them.
    if (app.entries.has(path)) known.set(path, found)
    return found
  }
  return (name, [path, ...values]) => {
    const { entry, route } = find(path)
    const method = entry.methods.get(name)
    if (!method?.external) {
      const at = `on service${quote(entry.path)}`
      throw new MethodNotAllowed(`Method${quote(name)} not allowed ${at}`)
    }
    const places = method.spec.arguments as readonly string[]
    if (values.length > places.length) {
      throw new BadRequest(`Too many arguments for '${name}' method`)
    }
    check(values)
    const at = (argument: string): unknown => values[places.indexOf(argument)]
    return {
      method,
      id: method.spec.withId ? readId(name, at('id')) : undefined,
      data: places.includes('data') ? readData(name, at('data')) : undefined,
      query: readQuery(at('params')),
      route,
    }
  }
}

/** Returns a path as a URL has it: clients send the values of placeholders without encoding. */
function toTarget(path: string): string {
  // Half a surrogate pair cannot be encoded, and no path of a service contains it.
  const encode = (part: string): string => (part.isWellFormed() ? encodeURIComponent(part) : '\0')
  return `/${stripSlashes(path).split('/').map(encode).join('/')}`
}

function quote(text: string): string {
  return text.length > LONGEST_NAME ? '' : ` '${text}'`
}

function readId(name: string, id: unknown): string | number | null {
  if (typeof id === 'string' || Number.isFinite(id)) return id as string | number
  // `null` stands for many records.
  if (id === null && name !== 'get') return null
  throw new BadRequest(`An id must be provided to the '${name}' method`)
}

function readData(name: string, data: unknown): object {
  // JSON turns an argument that is `undefined` into `null`.
  if ((data ?? null) === null && !isStandardMethod(name)) return {}
  if (typeof data === 'object' && data !== null && !ArrayBuffer.isView(data)) return data
  throw new BadRequest(`The data of '${name}' must be an object or an array`)
}

function readQuery(query: unknown): Query {
  if (query === undefined || query === null) return {}
  if (isPlainObject(query)) return query
  throw new BadRequest('The query must be an object')
}

import {
  InternalError,
  InvalidData,
  InvalidId,
  InvalidQuery,
  InvalidSocketCall,
  LoginEnded,
  MethodNotOffered,
  ServerClosing,
  ServiceNotFound,
  SocketLimit,
} from '../../core/errors/coded-errors.ts'
import type { ErrorJSON, MethodEntry, Query } from '../../core/index.ts'
import { HookContext, isStandardMethod, stripSlashes, toServiceError } from '../../core/index.ts'
import { finishCall } from '../../core/services/run-method.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { createMessageCheck } from '../parsing/request-body.ts'
import { isSentAsItIs } from '../replies/body.ts'
import { pickResult } from '../replies/result-serializer.ts'
import { SOCKET_FEATURES } from '../rest-features.ts'
import type { RestPlan, WatchedCall } from '../rest-plan.ts'
import { RestPlans } from '../rest-plan.ts'
import type { ServiceMatch } from '../routing/service-router.ts'
import { ServiceRouter } from '../routing/service-router.ts'
import { discardResult, toBody } from '../service-reply.ts'
import type { Client, Hub } from './connection.ts'
import { SocketFacts } from './connection.ts'

/** The acknowledgement of a message: `(error)`, or `(null, result)`. */
type Acknowledge = (error: ErrorJSON | null, result?: unknown) => void

/** Makes one call of a client, and responds. Never rejects. */
async function runCall(
  hub: Hub,
  client: Client,
  open: (facts: SocketFacts) => OpenedCall,
  acknowledge: Acknowledge | null,
): Promise<void> {
  const { request, reply } = client.handshake
  const facts = new SocketFacts(client)
  const ends: (() => void)[] = []
  let context: HookContext | null = null
  let isAnswered = false
  // Throws for a result that JSON cannot represent. Then the error is the response.
  const answer: Acknowledge = (error, result) => {
    if (isAnswered) return
    // As in Feathers, an error is the only argument.
    if (error === null) acknowledge?.(null, result)
    else acknowledge?.(error)
    isAnswered = true
    client.unanswered -= 1
    hub.settle(client)
  }
  const fail = (thrown: unknown): void => {
    if (isAnswered) return
    // The log line names its service and method.
    reply.hook = context
    try {
      answer(hub.transport.errors.tell(toServiceError(thrown), thrown, request, reply))
    } catch (failure) {
      // The logger of the application, or `toJSON` of the error, has thrown.
      request.log.error({ err: failure }, 'The error of a call could not be sent')
      answer(toServiceError(null).toJSON())
    }
  }
  const failEarly = (error: Error): void => {
    facts.abort(error)
    fail(error)
  }
  client.calls += 1
  // Methods may continue after their time limit.
  client.unanswered += 1
  try {
    checkLimits(hub, client)
    const { plan, context: opened } = open(facts)
    const { method, start, watch } = plan
    context = opened
    const call: WatchedCall = { method, context, facts, request, reply, failEarly }
    for (const begin of watch) {
      const end = begin(call)
      ends.push(() => end(call))
    }
    const pending = start(opened)
    finishCall(method, opened, pending === undefined ? opened.result : await pending)
    answer(null, toResult(method, opened))
  } catch (thrown) {
    fail(thrown)
    if (context !== null) discardResult(context)
  } finally {
    facts.release()
    client.calls -= 1
    try {
      for (const end of ends) end()
    } catch (failure) {
      // The logger of the application may throw.
      request.log.error({ err: failure }, 'A call could not be logged')
    }
  }
}

function checkLimits({ isClosing, options }: Hub, { calls, isEnding }: Client): void {
  const { maxCalls = 100 } = options
  if (isClosing) throw new ServerClosing('The server is closing')
  if (isEnding)
    throw new LoginEnded('The login of this connection has ended. Connect and log in again')
  if (calls <= maxCalls) return
  throw new SocketLimit(`A connection may run ${maxCalls} calls at a time. Wait for one of them`)
}

/** Returns the result of a call as the client gets it. */
export function toResult(method: MethodEntry, { dispatch, result }: HookContext): unknown {
  const body = toBody(dispatch === undefined ? result : dispatch)
  if (!isSentAsItIs(body)) return pickResult(method, body)
  throw new InternalError(
    'A stream or bytes cannot be sent over a socket. Call the method over REST',
  )
}

/** A call that a message asks for. */
interface OpenedCall {
  readonly plan: RestPlan
  readonly context: HookContext
}

/**
 * Returns the function that runs the calls of clients. The values of a message are a path, then the arguments of the
 * method, with the query in place of the params: `socket.emit('patch', 'messages', 7, { text: 'new' }, {}, callback)`. The
 * error is `NotFound` if there is no service at the path, `MethodNotAllowed` if the method is not open to external calls,
 * and `BadRequest` if an argument does not fit the method.
 */
export function createCalls(hub: Hub): Hub['take'] {
  const { app, transport } = hub
  const check = createMessageCheck(transport.options.json ?? {})
  const plans = new RestPlans(transport, SOCKET_FEATURES)
  const router = new ServiceRouter(app, transport.routing)
  const known = new Map<unknown, ServiceMatch>()
  app.observe(() => {
    known.clear()
    plans.clear()
  })
  const find = (path: unknown): ServiceMatch => {
    const before = known.get(path)
    if (before !== undefined) return before
    if (typeof path !== 'string') throw new ServiceNotFound('Invalid service path')
    const found = router.find(toTarget(path))
    if (found === null || found.id !== null)
      throw new ServiceNotFound(`Service${quote(path)} not found`)
    // Other paths are not cached: clients can send any number of them.
    if (app.entries.has(path)) known.set(path, found)
    return found
  }
  const open = (facts: SocketFacts, name: string, [path, ...values]: unknown[]): OpenedCall => {
    const { entry, route } = find(path)
    const method = entry.methods.get(name)
    if (!method?.external) {
      const at = `on service${quote(entry.path)}`
      throw new MethodNotOffered(`Method${quote(name)} not allowed ${at}`)
    }
    const { withId, arguments: places }: { withId: boolean; arguments: readonly string[] } =
      method.spec
    if (values.length > places.length) {
      throw new InvalidSocketCall(`Too many arguments for '${name}' method`)
    }
    check(values)
    const at = (argument: string): unknown => values[places.indexOf(argument)]
    const id = withId ? readId(name, at('id')) : undefined
    const data = places.includes('data') ? readData(name, at('data')) : undefined
    const params = facts.createParams(readQuery(at('params')), route)
    const context = new HookContext(method, entry.service, id, data, params)
    return { plan: plans.get(method), context }
  }
  return (client, name, values) => {
    const hasCallback = typeof values.at(-1) === 'function'
    const acknowledge = hasCallback ? (values.pop() as Acknowledge) : null
    if (client.calls === 0) client.changesBefore = hub.changes
    void runCall(hub, client, (facts) => open(facts, name, values), acknowledge)
  }
}

/** The longest path or name that an error repeats. */
const LONGEST_NAME = 64

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
  throw new InvalidId(`An id must be provided to the '${name}' method`)
}

function readData(name: string, data: unknown): object {
  // JSON turns an argument that is `undefined` into `null`.
  if ((data ?? null) === null && !isStandardMethod(name)) return {}
  if (typeof data === 'object' && data !== null && !ArrayBuffer.isView(data)) return data
  throw new InvalidData(`The data of '${name}' must be an object or an array`)
}

function readQuery(query: unknown): Query {
  if (query === undefined || query === null) return {}
  if (isPlainObject(query)) return query
  throw new InvalidQuery('The query must be an object')
}

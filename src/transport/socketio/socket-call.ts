import { watchRests } from '../../core/hooks/around-hooks.ts'
import type { ErrorJSON, MethodEntry } from '../../core/index.ts'
import {
  GeneralError,
  HookContext,
  NotAuthenticated,
  TooManyRequests,
  toServiceError,
  Unavailable,
} from '../../core/index.ts'
import { finishCall } from '../../core/services/run-method.ts'
import type { TimeLimit } from '../call-time-limit.ts'
import { isSentAsItIs } from '../replies/body.ts'
import { pickResult } from '../replies/result-serializer.ts'
import { isRead } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
import { toBody } from '../service-reply.ts'
import type { Client, SocketFacts } from './connection.ts'
import type { ReadMessage } from './message.ts'

/** What is needed to run calls. */
export interface CallServer {
  readonly transport: RestTransport
  readonly readMessage: ReadMessage
  readonly maxCalls: number
  /** Whether the server is closing and rejects new calls. */
  readonly isClosing: boolean
}

/** The acknowledgement of a message: `(error)`, or `(null, result)`. */
export type Acknowledge = (error: ErrorJSON | null, result?: unknown) => void

/** One call over a socket, until it is answered. */
export class SocketCall {
  readonly #server: CallServer
  readonly #client: Client
  readonly #acknowledge: Acknowledge
  #context: HookContext | null = null
  #isAnswered = false

  constructor(server: CallServer, client: Client, acknowledge: Acknowledge) {
    this.#server = server
    this.#client = client
    this.#acknowledge = acknowledge
  }

  /** Makes the call and answers it. Never rejects. */
  async run(name: string, values: readonly unknown[]): Promise<void> {
    const client = this.#client
    const { readMessage, transport } = this.#server
    let facts: SocketFacts | undefined
    let timed: ReturnType<TimeLimit['start']> | undefined
    client.calls += 1
    try {
      this.#checkLimits()
      const { method, id, data, query, route } = readMessage(name, values)
      const call = client.createParams(query, route)
      facts = call.facts
      const context = new HookContext(method, method.entry.service, id, data, call.params)
      this.#context = context
      timed = transport.timeLimit?.start((limitMs) => this.#timeOut(limitMs, method, call.facts))
      const pending = method.start(context)
      finishCall(method, context, pending === undefined ? context.result : await pending)
      this.#answer(toPayload(context, method))
    } catch (thrown) {
      if (this.#context !== null) watchRests(this.#context)
      this.#fail(thrown)
    } finally {
      timed?.endWatch()
      facts?.release()
      client.calls -= 1
    }
  }

  #checkLimits(): void {
    const { isClosing, maxCalls } = this.#server
    const { calls, isEnding } = this.#client
    if (isClosing) throw new Unavailable('The server is closing')
    if (isEnding)
      throw new NotAuthenticated('The login of this connection has ended. Connect and log in again')
    if (calls > maxCalls) {
      throw new TooManyRequests(
        `A connection may run ${maxCalls} calls at a time. Wait for one of them`,
      )
    }
  }

  #timeOut(limitMs: number, method: MethodEntry, facts: SocketFacts): void {
    const errors = isRead(method) ? null : { errors: { outcome: 'unknown' } }
    const error = new Unavailable(`No answer within ${limitMs} ms`, errors)
    facts.abort(error)
    this.#fail(error)
  }

  #answer(body: unknown): void {
    if (this.#isAnswered) return
    // Throws for values that JSON cannot represent. Then the error is the answer.
    this.#acknowledge(null, body)
    this.#isAnswered = true
  }

  #fail(thrown: unknown): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    const { request, reply } = this.#client.handshake
    // The log line names its service and method.
    reply.hook = this.#context
    try {
      const { errors } = this.#server.transport
      this.#acknowledge(errors.tell(toServiceError(thrown), thrown, request, reply))
    } catch (failure) {
      // The logger of the application, or `toJSON` of the error, has thrown.
      request.log.error({ err: failure }, 'The error of a call could not be sent')
      this.#acknowledge(toServiceError(null).toJSON())
    }
  }
}

/** Returns the result of a call as the client gets it. */
function toPayload({ dispatch, result }: HookContext, method: MethodEntry): unknown {
  const body = toBody(dispatch === undefined ? result : dispatch)
  if (isSentAsItIs(body)) {
    throw new GeneralError(
      'A stream or bytes cannot be sent over a socket. Call the method over REST',
    )
  }
  return pickResult(method, body)
}

import { watchRests } from '../../core/hooks/around-hooks.ts'
import type { ErrorJSON } from '../../core/index.ts'
import {
  GeneralError,
  HookContext,
  NotAuthenticated,
  TooManyRequests,
  toServiceError,
  Unavailable,
} from '../../core/index.ts'
import { finishCall } from '../../core/services/run-method.ts'
import { isSentAsItIs } from '../replies/body.ts'
import { pickResult } from '../replies/result-serializer.ts'
import { isRead } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
import type { ServiceLookup } from '../routing/service-router.ts'
import { toBody } from '../service-reply.ts'
import type { Client } from './connection.ts'
import { readMessage } from './message.ts'

/** What calls need to be made. */
export interface CallServer {
  readonly transport: RestTransport
  readonly lookup: (path: string) => ServiceLookup | null
  readonly maxCalls: number
  /** Whether the server closes: no further calls are made. */
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
    const { maxCalls, isClosing } = this.#server
    client.calls += 1
    try {
      if (isClosing) throw new Unavailable('The server is closing')
      if (client.isEnding) throw new NotAuthenticated('The login of the connection has ended')
      if (client.calls > maxCalls) {
        throw new TooManyRequests(`A connection may have ${maxCalls} calls under way`)
      }
      this.#answer(await this.#call(name, values))
    } catch (thrown) {
      if (this.#context !== null) watchRests(this.#context)
      this.#fail(thrown)
    } finally {
      client.calls -= 1
    }
  }

  async #call(name: string, values: readonly unknown[]): Promise<unknown> {
    const { transport, lookup } = this.#server
    const { json = {} } = transport.options
    const message = readMessage(lookup, json, name, values)
    const { method, id, data, query, route } = message
    const { facts, params } = this.#client.createParams(query, route)
    const context = new HookContext(method, method.entry.service, id, data, params)
    this.#context = context
    const timed = transport.timeLimit?.start((limitMs) => {
      const errors = isRead(method) ? null : { errors: { outcome: 'unknown' } }
      const error = new Unavailable(`No answer within ${limitMs} ms`, errors)
      facts.abort(error)
      this.#fail(error)
    })
    try {
      const pending = method.start(context)
      finishCall(method, context, pending === undefined ? context.result : await pending)
    } finally {
      timed?.endWatch()
      facts.release()
    }
    const { dispatch, result } = context
    const body = toBody(dispatch === undefined ? result : dispatch)
    if (isSentAsItIs(body)) {
      throw new GeneralError('The result is a stream or bytes, which REST alone sends')
    }
    return pickResult(method, body)
  }

  #answer(body: unknown): void {
    if (this.#isAnswered) return
    // Throws for what JSON can't have; then the error is the answer.
    this.#acknowledge(null, body)
    this.#isAnswered = true
  }

  #fail(thrown: unknown): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    const { request, reply } = this.#client.handshake
    // The log names the service and the method of it.
    reply.hook = this.#context
    try {
      const { errors } = this.#server.transport
      this.#acknowledge(errors.tell(toServiceError(thrown), thrown, request, reply))
    } catch (failure) {
      // The logger of the application has failed, or the error itself.
      request.log.error({ err: failure }, 'An error could not be answered')
      this.#acknowledge(toServiceError(null).toJSON())
    }
  }
}

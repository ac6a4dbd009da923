import type { FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify'
import { nameFunction } from '../../core/function-metadata.ts'
import type { RestPlan } from '../rest-plan.ts'
import type { RestCall } from '../service-handler.ts'

/** Returns the call that a request is for, `null` if the request has been answered. */
export type OpenCall = (request: FastifyRequest, reply: FastifyReply) => RestCall | null

/** What a route of a service runs. */
interface RouteFunctions {
  readonly preHandler: preHandlerHookHandler[]
  readonly handler: (request: FastifyRequest, reply: FastifyReply) => void
}

/** The key of a request's call, until the handler runs. */
const CALL: unique symbol = Symbol('remex.call')

type RequestWithCall = FastifyRequest & { [CALL]?: RestCall }

/**
 * Returns the handler of a route, and one hook of Fastify for each step before a call, under its name. Without these hooks,
 * for example for services that come after the start, the handler runs the steps.
 */
export function createRouteFunctions(open: OpenCall, steps: RestPlan['before']): RouteFunctions {
  const preHandler = steps.map(({ name }) => {
    const runStep: preHandlerHookHandler = (request: RequestWithCall, reply, done) => {
      const { [CALL]: begun } = request
      if (begun !== undefined) return begun.runStep(done)
      const call = open(request, reply)
      if (call === null) return
      request[CALL] = call
      const goOn = (): void => {
        done()
        call.endIfLeft()
      }
      call.start(() => call.runStep(goOn))
    }
    return nameFunction(name, runStep)
  })
  // Named for traces, which call a handler by its function.
  const callService = (request: RequestWithCall, reply: FastifyReply): void => {
    const { [CALL]: call } = request
    if (call === undefined) open(request, reply)?.start()
    else call.proceed()
  }
  return { preHandler, handler: callService }
}

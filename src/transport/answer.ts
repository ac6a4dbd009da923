import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HookContext } from '../core/index.ts'
import { toServiceError } from '../core/index.ts'
import { getMiddleware, runMiddleware } from './middleware.ts'
import { sendBody, setHeaders, toStatus } from './reply.ts'
import type { RestTransport } from './transport.ts'

/**
 * Answers a call that went well: `context.dispatch`, else `context.result`. Functions after the
 * service may replace it in `reply.data`; a formatter of one's own sends it.
 */
export function answerCall(
  transport: RestTransport,
  context: HookContext,
  request: FastifyRequest,
  reply: FastifyReply,
): unknown {
  if (reply.sent) return undefined
  const body = context.dispatch === undefined ? context.result : context.dispatch
  setHeaders(reply, context.http)
  reply.code(toStatus(context, body))
  endConnection(transport, reply)
  reply.hook = context
  const after = getMiddleware(context.service)?.after ?? []
  if (after.length === 0 && transport.options.formatter == null) return sendBody(reply, body)
  reply.data = body
  return format(transport, context, request, reply)
}

/** Answers whatever a service, a hook, a middleware or a formatter threw. */
export function answerError(
  transport: RestTransport,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  context: HookContext | null = null,
): void {
  if (reply.sent) return
  reply.hook = context
  endConnection(transport, reply)
  transport.errors.send(toServiceError(thrown), request, reply)
}

async function format(
  transport: RestTransport,
  context: HookContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const after = getMiddleware(context.service)?.after ?? []
  if (!(await runMiddleware(after, request, reply))) return
  if (reply.statusCode === 204) reply.code(toStatus(context, reply.data))
  const { formatter } = transport.options
  if (formatter == null) sendBody(reply, reply.data)
  else await formatter(request, reply)
}

/** A client must not send another request to a server that is closing. */
function endConnection(transport: RestTransport, reply: FastifyReply): void {
  if (transport.isClosing) reply.header('connection', 'close')
}

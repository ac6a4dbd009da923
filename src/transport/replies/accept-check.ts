import { TypeNotAcceptable } from '../../core/errors/coded-errors.ts'
import type { MethodEntry } from '../../core/index.ts'
import type { RestFeature, ServedCall } from '../rest-plan.ts'
import { isRead } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'
import { acceptsJson } from './accept.ts'
import { isSentAsJson } from './body.ts'

/** Rejects a write whose response the client could not accept, before it has effects. */
export const acceptOfWrites: RestFeature = (method, transport) => {
  if (isRead(method) || takesAny(method, transport)) return null
  return { check: checkAccept }
}

/** Rejects a read whose response is JSON if the client does not accept that. */
export const acceptOfReads: RestFeature = (method, transport) => {
  if (!isRead(method) || takesAny(method, transport)) return null
  return {
    beforeSend: ({ reply, request, body }) => {
      // A redirect, or a response that is not JSON, is sent whatever the client accepts.
      const { accept } = request.headers
      if (accept === undefined || acceptsJson(accept) || reply.statusCode >= 300) return true
      if (isSentAsJson(reply, body)) refuse()
      return true
    },
  }
}

/** Returns whether responses may have any type: a formatter writes them, or browsers are sent to the service. */
function takesAny({ entry }: MethodEntry, { options }: RestTransport): boolean {
  return options.formatter != null || entry.options.page === true
}

/** @throws {NotAcceptable} the `Accept` header excludes JSON */
function checkAccept({ request }: ServedCall): void {
  if (!acceptsJson(request.headers.accept)) refuse()
}

function refuse(): never {
  throw new TypeNotAcceptable('The answer is JSON, which the Accept header excludes')
}

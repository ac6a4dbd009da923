import { nameFunction } from '../core/function-metadata.ts'
import { getMiddleware, hasFunctionsAfter, runMiddleware } from './middleware.ts'
import { isEndless, isSentAsItIs } from './replies/body.ts'
import { isAnswered, watchSend } from './replies/reply-state.ts'
import { pickResult } from './replies/result-serializer.ts'
import type { RestFeature, ServedCall } from './rest-plan.ts'
import { setCommonHeaders, toBody, toStatus } from './service-reply.ts'

/** Runs the functions before a service, which may respond themselves. */
export const functionsBefore: RestFeature = ({ entry }, transport) => {
  const { before = [] } = getMiddleware(entry) ?? {}
  if (before.length === 0) return null
  return before.map((run, index) => ({
    before: nameFunction(run.name, ({ request, reply }: ServedCall) => {
      if (index === 0) {
        setCommonHeaders(transport, request, reply, transport.isLogin(entry.service))
      }
      return runMiddleware([run], request, reply)
    }),
  }))
}

/** Sets `reply.data`, in the form of its schema, for functions after a service and the formatter to change. */
export const replyData: RestFeature = ({ entry }, { options }) => {
  if (options.formatter == null && !hasFunctionsAfter(entry)) return null
  return {
    transform: async (call) => {
      const { method, context, reply } = call
      watchSend(reply)
      if (!isSentAsItIs(call.body)) call.body = pickResult(method, call.body)
      reply.data = call.body
      reply.code(toStatus(context, call.body))
      return true
    },
  }
}

/** Runs the functions after a service, which may replace `reply.data` or respond themselves. */
export const functionsAfter: RestFeature = ({ entry }) => {
  const { after = [] } = getMiddleware(entry) ?? {}
  if (after.length === 0) return null
  return {
    transform: async (call) => {
      const { context, reply, request } = call
      const { statusCode } = reply
      if (!(await runMiddleware(after, request, reply))) return false
      if (reply.data !== call.body) {
        reply.data = toBody(reply.data)
        call.body = reply.data
      }
      // A new body may need another status, unless a function has set one.
      if (reply.statusCode === statusCode) reply.code(toStatus(context, call.body))
      return true
    },
  }
}

/** Lets the formatter of the application write the response. */
export const formatter: RestFeature = (_method, transport) => {
  const { formatter: format } = transport.options
  if (format == null) return null
  return {
    transform: async ({ reply, request }) => {
      const value = await format(request, reply)
      const isAnother = value !== undefined && value !== reply && value !== reply.raw
      const isOpen = isEndless(reply, isAnother ? value : reply.data)
      if (isAnother && !isAnswered(reply)) reply.send(value)
      if (isOpen) transport.followEndless(reply)
      return false
    },
  }
}

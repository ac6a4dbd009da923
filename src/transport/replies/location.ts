import type { MethodEntry } from '../../core/index.ts'
import { findIdNames } from '../../core/schema/resolvers/selection.ts'
import { isObject } from '../../core/value-kind.ts'
import type { RestFeature } from '../rest-plan.ts'
import { getRouting, toPath } from '../routing/request-path.ts'

/** Sets where a new record is, which a request for all records has added. */
export const locationOfNewRecords: RestFeature = (method) => {
  if (method.name !== 'create') return null
  return {
    headers: ({ body, reply, request, target }) => {
      if (target.id !== null || reply.statusCode !== 201) return
      const id = findId(method, body)
      if (id === undefined || reply.hasHeader('location')) return
      const path = toPath(request.originalUrl, getRouting(request.server))
      reply.header('location', `${path}${path.endsWith('/') ? '' : '/'}${encodeURIComponent(id)}`)
    },
  }
}

/** Returns the id of a new record that callers can get; it may hold any character. */
function findId({ entry }: MethodEntry, body: unknown): string | undefined {
  if (!isObject(body) || entry.options.singleton) return undefined
  if (entry.methods.get('get')?.external !== true) return undefined
  const name = findIdNames(entry.service).find((one) => body[one] != null)
  const id = name === undefined ? undefined : String(body[name])
  return id?.isWellFormed() ? id : undefined
}

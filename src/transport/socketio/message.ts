import type { MethodEntry, Query } from '../../core/index.ts'
import {
  BadRequest,
  findServiceEntry,
  isStandardMethod,
  MethodNotAllowed,
  NotFound,
  stripSlashes,
} from '../../core/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { JsonOptions } from '../parsing/request-body.ts'
import { checkMessage } from '../parsing/request-body.ts'
import type { ServiceLookup } from '../routing/service-router.ts'
import { ID_PLACEHOLDER } from '../routing/service-router.ts'

/** A call that a client asks for: `socket.emit('patch', 'messages', 7, { text: 'new' }, {}, callback)`. */
export interface SocketMessage {
  readonly method: MethodEntry
  readonly id: string | number | null | undefined
  readonly data: object | undefined
  readonly query: Query
  /** The values of the placeholders in the path. */
  readonly route: Readonly<Record<string, string>>
}

type Lookup = (path: string) => ServiceLookup | null

/** Longest path or name that an error repeats. */
const LONGEST_NAME = 64

/**
 * Reads what a client has sent: the name of a method, a path, and the arguments of the method with the query in the
 * place of the params.
 * @throws {NotFound} there is no service at the path
 * @throws {MethodNotAllowed} the service does not have the method for external calls
 * @throws {BadRequest} an argument is not what the method takes
 */
export function readMessage(
  lookup: Lookup,
  limits: JsonOptions,
  name: string,
  [path, ...values]: readonly unknown[],
): SocketMessage {
  const { method, route } = findMethod(lookup, name, path)
  const { spec } = method
  const places = spec.arguments as readonly string[]
  if (values.length > places.length) throw new BadRequest(`Too many arguments for '${name}' method`)
  const at = (argument: string): unknown => values[places.indexOf(argument)]
  checkMessage(values.slice(0, places.length), limits)
  return {
    method,
    id: spec.withId ? readId(name, at('id')) : undefined,
    data: places.includes('data') ? readData(name, at('data')) : undefined,
    query: readQuery(at('params')),
    route,
  }
}

function findMethod(
  lookup: Lookup,
  name: string,
  path: unknown,
): Pick<SocketMessage, 'method' | 'route'> {
  if (typeof path !== 'string') throw new NotFound('Invalid service path')
  const found = lookup(toTarget(path))
  const entry = found === null ? undefined : findServiceEntry(found.service)
  if (found === null || entry === undefined || ID_PLACEHOLDER in found.params) {
    throw new NotFound(`Service${quote(path)} not found`)
  }
  const method = entry.methods.get(name)
  if (method?.external) return { method, route: found.params }
  throw new MethodNotAllowed(`Method${quote(name)} not allowed on service${quote(entry.path)}`)
}

/** Returns a path as a URL has it: values in it come as they are. */
function toTarget(path: string): string {
  return `/${stripSlashes(path).split('/').map(encodeSegment).join('/')}`
}

/** Half a surrogate pair can't be encoded; no service has it in its path. */
function encodeSegment(segment: string): string {
  return segment.isWellFormed() ? encodeURIComponent(segment) : '\0'
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
  if (data === undefined && !isStandardMethod(name)) return {}
  if (typeof data === 'object' && data !== null && !ArrayBuffer.isView(data)) return data
  throw new BadRequest(`The data of '${name}' must be an object or an array`)
}

function readQuery(query: unknown): Query {
  if (query === undefined || query === null) return {}
  if (isPlainObject(query)) return query
  throw new BadRequest('The query must be an object')
}

import type { Application, MethodEntry, Query } from '../../core/index.ts'
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
import { createMessageCheck } from '../parsing/request-body.ts'
import type { ServiceLookup } from '../routing/service-router.ts'
import { ID_PLACEHOLDER } from '../routing/service-router.ts'

/** A call of a client: `socket.emit('patch', 'messages', 7, { text: 'new' }, {}, callback)`. */
export interface SocketMessage {
  readonly method: MethodEntry
  readonly id: string | number | null | undefined
  readonly data: object | undefined
  readonly query: Query
  /** The values of the placeholders in the path. */
  readonly route: Readonly<Record<string, string>>
}

/** The longest path or name that an error repeats. */
const LONGEST_NAME = 64

type Lookup = (path: string) => ServiceLookup | null

/**
 * Returns the call that a message asks for. Its values are a path, then the arguments of the method, with the query in place
 * of the params. Throws `NotFound` if there is no service at the path, `MethodNotAllowed` if the method is not open to
 * external calls, and `BadRequest` if an argument does not fit the method.
 */
export type ReadMessage = (name: string, values: readonly unknown[]) => SocketMessage

/** Returns the reader of messages for the services of an application. */
export function createReader(app: Application, lookup: Lookup, limits: JsonOptions): ReadMessage {
  const find = createFinder(app, lookup)
  const check = createMessageCheck(limits)
  return (name, [path, ...values]) => {
    const { entry, route } = find(path)
    const method = entry.methods.get(name)
    if (!method?.external) {
      const at = `on service${quote(entry.path)}`
      throw new MethodNotAllowed(`Method${quote(name)} not allowed ${at}`)
    }
    const { spec } = method
    const places = spec.arguments as readonly string[]
    if (values.length > places.length) {
      throw new BadRequest(`Too many arguments for '${name}' method`)
    }
    check(values)
    const at = (argument: string): unknown => values[places.indexOf(argument)]
    return {
      method,
      id: spec.withId ? readId(name, at('id')) : undefined,
      data: places.includes('data') ? readData(name, at('data')) : undefined,
      query: readQuery(at('params')),
      route,
    }
  }
}

interface FoundService {
  readonly entry: MethodEntry['entry']
  readonly route: SocketMessage['route']
}

/** Returns a function that finds the service at the path of a message, and throws `NotFound` if there is none. */
function createFinder(app: Application, lookup: Lookup): (path: unknown) => FoundService {
  const known = new Map<unknown, FoundService>()
  app.observe(() => known.clear())
  return (path) => {
    const before = known.get(path)
    if (before !== undefined) return before
    if (typeof path !== 'string') throw new NotFound('Invalid service path')
    const found = lookup(toTarget(path))
    const entry = found === null ? undefined : findServiceEntry(found.service)
    if (found === null || entry === undefined || ID_PLACEHOLDER in found.params) {
      throw new NotFound(`Service${quote(path)} not found`)
    }
    const service = { entry, route: found.params }
    // Other paths are not cached: clients can send any number of them.
    if (app.entries.has(path)) known.set(path, service)
    return service
  }
}

/** Returns a path as a URL has it: clients send the values of placeholders without encoding. */
function toTarget(path: string): string {
  return `/${stripSlashes(path).split('/').map(encodeSegment).join('/')}`
}

/** Half a surrogate pair cannot be encoded, and no path of a service contains it. */
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

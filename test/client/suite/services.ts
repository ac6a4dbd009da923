import type { ServerResponse } from 'node:http'
import { NotAcceptable } from '@feathersjs/errors'
import { MemoryService } from '@feathersjs/memory'
import type { Id, NullableId, Params } from '../../../src/core/index.ts'

/** A record of the services in memory. */
export type Todo = Record<string, unknown>

/** A request as it came to the server, for services that say what they were called with. */
interface SentRequest {
  /** The HTTP method. */
  readonly verb: string
  /** What follows the path that the services are below. */
  readonly url: string
}

/** Params with what the middleware of the server adds. */
interface ServerParams extends Params {
  readonly sent?: SentRequest
  readonly authorization?: string
}

/** Returns what the middleware of a server adds to the params of its calls. */
export function toServerParams(
  verb: string,
  url: string,
  authorization: string | undefined,
): Pick<ServerParams, 'sent' | 'authorization'> {
  const sent = { verb, url: url.replace(/^\/api\/v1/, '') }
  return authorization === undefined ? { sent } : { sent, authorization }
}

const DETAILS = { data: true, errors: { text: 'is too odd' } }

/** Records of Feathers' own memory service: both servers have the same ones. */
class TodoService extends MemoryService {
  override async get(id: Id, params: ServerParams = {}): Promise<Todo> {
    const { query = {}, authorization } = params
    if (query['error']) throw new Error('Something went wrong')
    if (query['feathersError']) throw new NotAcceptable('This is a Feathers error', DETAILS)
    const shown = authorization === undefined ? {} : { authorization }
    return { ...(await super.get(id)), query, ...shown }
  }

  override async remove(id: NullableId, params: ServerParams = {}): Promise<never> {
    const { noContent, ...query } = params.query ?? {}
    // The type of the method says that there is always a record, which is what is tested.
    if (noContent) return null as never
    return (await super.remove(id as Id, { query })) as never
  }

  async customMethod(data: Todo | undefined, { provider }: Params): Promise<Todo | null> {
    return data?.['empty'] ? null : { data, provider, type: 'customMethod' }
  }
}

/** Says what each of its methods was called with. */
class EchoService {
  async find(params: Params): Promise<object> {
    return describe('find', params)
  }

  async get(id: Id, params: Params): Promise<object> {
    return { id, ...describe('get', params) }
  }

  async create(data: unknown, params: Params): Promise<object> {
    return { data, ...describe('create', params) }
  }

  async update(id: NullableId, data: unknown, params: Params): Promise<object> {
    return { id, data, ...describe('update', params) }
  }

  async patch(id: NullableId, data: unknown, params: Params): Promise<object> {
    return { id, data, ...describe('patch', params) }
  }

  async remove(id: NullableId, params: Params): Promise<object> {
    return { id, ...describe('remove', params) }
  }

  async shout(data: unknown, params: Params): Promise<object> {
    return { data, ...describe('shout', params) }
  }

  async internal(): Promise<never> {
    throw new Error('internal is not for callers from outside')
  }
}

function describe(method: string, params: ServerParams): object {
  const { query, route, headers, provider, sent } = params
  return { method, query, route, headers, provider, sent }
}

/** Results that are no record, by the id they are got by. */
export const RESULTS: Readonly<Record<string, unknown>> = {
  list: [1, [2]],
  string: 'hello "you"',
  number: 1.5,
  true: true,
  nested: { a: [null, { b: 'ü' }] },
  zero: 0,
  false: false,
  blank: '',
  null: null,
  undefined,
}

export const TODO_METHODS = [
  ...['find', 'get', 'create', 'update', 'patch', 'remove', 'customMethod'],
] as const

const ECHO_METHODS = ['find', 'get', 'create', 'update', 'patch', 'remove', 'shout'] as const

interface SharedService {
  readonly path: string
  readonly service: object
  readonly methods: readonly string[]
}

/**
 * Resolves to the services that every server has: `todos` with one record, `pages` with seven, of which
 * a page has two unless more are asked for, services that say what they were called with, and one with
 * results of every kind.
 */
export async function createServices(): Promise<readonly SharedService[]> {
  const todos = new TodoService({ multi: true })
  await todos.create({ text: 'some todo', complete: false })
  const pages = new TodoService({ multi: true, paginate: { default: 2, max: 4 } })
  await pages.create([...'abcdefg'].map((text, index) => ({ text, even: index % 2 === 0 })))
  const echoes = ['echo', 'rooms/:userId/echo', 'teams/:userId/of/:user/echo']
  return [
    { path: 'todos', service: todos, methods: TODO_METHODS },
    { path: 'pages', service: pages, methods: TODO_METHODS },
    { path: 'results', service: { get: async (id: string) => RESULTS[id] }, methods: ['get'] },
    ...echoes.map((path) => ({ path, service: new EchoService(), methods: ECHO_METHODS })),
  ]
}

/** Answers of `odd/:id`, which is no service: what proxies and other programs say. */
const ODD_ANSWERS: Readonly<Record<string, [status: number, type: string, body: string]>> = {
  empty: [200, 'application/json', ''],
  text: [200, 'text/plain', 'hello'],
  part: [200, 'application/json', '{"a":'],
  'unknown-name': [400, 'application/json', '{"name":"OutOfTea","message":"no tea","code":400}'],
  page: [502, 'text/html', '<title>Bad Gateway</title>'],
  teapot: [418, 'text/plain', 'short and stout'],
}

/** Where the answers are that no service gives. */
export const ODD_PATH = '/odd/:id'

/** Sends the answer that has this id. */
export function answerOddly(id: string, response: ServerResponse): void {
  const [status, type, body] = ODD_ANSWERS[id] ?? [404, 'text/plain', 'no such answer']
  response.writeHead(status, { 'content-type': type }).end(body)
}

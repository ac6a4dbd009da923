import type { FastifyInstance } from 'fastify'
import type { Application, Id, NullableId, Params } from '../../src/transport/index.ts'
import { NotAcceptable, NotFound } from '../../src/transport/index.ts'
import type { ServerOptions } from './http.ts'

/** A record, with whatever a call adds to it. */
export type Todo = Record<string, unknown>

/** Records in memory, with the odd answers that a client has to cope with. */
class TodosService {
  readonly #records = new Map<string, Todo>([['0', { id: 0, text: 'some todo', complete: false }]])

  async find({ query }: Params): Promise<unknown> {
    return query?.['echo'] ? { query } : [...this.#records.values()]
  }

  async get(id: Id, { query, authorization }: Params & { authorization?: string }): Promise<Todo> {
    if (query?.['error']) throw new Error('Something went wrong')
    if (query?.['feathersError'])
      throw new NotAcceptable('This is a Feathers error', { data: true })
    const shown = authorization === undefined ? {} : { authorization }
    return { ...this.#read(id), query, ...shown }
  }

  async create(data: Todo): Promise<Todo> {
    const record = { ...data, id: data['id'] ?? this.#records.size }
    this.#records.set(String(record.id), record)
    return record
  }

  async update(id: NullableId, data: Todo): Promise<Todo> {
    this.#read(id)
    return this.create({ ...data, id })
  }

  async patch(id: NullableId, data: Todo): Promise<Todo> {
    if (id === null) return { ...data, id, many: true }
    return this.create({ ...this.#read(id), ...data })
  }

  async remove(id: NullableId, { query }: Params): Promise<Todo | undefined> {
    if (id === null) return { id, text: 'deleted many' }
    if (query?.['noContent']) return undefined
    const record = this.#read(id)
    this.#records.delete(String(id))
    return record
  }

  async customMethod(data: Todo, { provider }: Params): Promise<Todo> {
    return { data, provider, type: 'customMethod' }
  }

  #read(id: NullableId): Todo {
    const record = this.#records.get(String(id))
    if (record === undefined) throw new NotFound(`No record found for id '${id}'`)
    return record
  }
}

/** What callers from outside may call of the service `todos`. */
export const TODO_METHODS = [
  'find',
  'get',
  'create',
  'update',
  'patch',
  'remove',
  'customMethod',
] as const

/** A server for tests of clients: `todos`, and `users/:userId/todos`, which say what they got. */
export const REMOTE_TODOS = {
  server: (fastify: FastifyInstance) =>
    fastify.addHook('onRequest', async (request) => {
      const { authorization } = request.headers
      if (authorization !== undefined) request.feathers['authorization'] = authorization
    }),
  services: (app: Application) =>
    app.use('todos', new TodosService(), { methods: TODO_METHODS }).use('users/:userId/todos', {
      get: async (id: Id, { route }: Params) => ({ id, route }),
    }),
} satisfies ServerOptions

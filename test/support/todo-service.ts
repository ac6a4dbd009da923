import type { Id, NullableId, Params } from '../../src/core/index.ts'

/** A record, or what a call with many records answers. */
type Todo = Record<string, unknown>

/** A service that only says what it was called with, for tests of the way to it. */
export class TodoService {
  readonly events = ['log']

  async find(_params?: Params): Promise<Todo[]> {
    return [0, 1].map((id) => ({ id, description: 'You have to do something' }))
  }

  async get(name: Id, params: Params = {}): Promise<Todo> {
    if (params.query?.['error']) throw new Error(`Something for ${name} went wrong`)
    if (params.query?.['runtimeError']) Reflect.get(undefined as unknown as object, 'nothing')
    return { id: name, description: `You have to do ${name}!` }
  }

  async create(data: Todo | Todo[], _params?: Params): Promise<Todo> {
    const result = { ...data, id: 42, status: 'created' }
    return Array.isArray(data) ? { ...result, many: true } : result
  }

  async update(id: NullableId, data: Todo, _params?: Params): Promise<Todo> {
    return { ...data, id, status: 'updated', ...(id === null ? { many: true } : {}) }
  }

  async patch(id: NullableId, data: Todo, _params?: Params): Promise<Todo> {
    return { ...data, id, status: 'patched', ...(id === null ? { many: true } : {}) }
  }

  async remove(id: NullableId, _params?: Params): Promise<Todo> {
    return { id }
  }

  async customMethod(data: Todo, params: Params = {}): Promise<Todo> {
    return { data, method: 'customMethod', provider: params.provider }
  }

  async internalMethod(_data: Todo, _params?: Params): Promise<never> {
    throw new Error('internalMethod is not for callers from outside')
  }
}

/** What callers from outside may call of a {@link TodoService}. */
export const TODO_METHODS = [
  ...['find', 'get', 'create', 'update', 'patch', 'remove', 'customMethod'],
] as const

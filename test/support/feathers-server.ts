import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { NotAcceptable } from '@feathersjs/errors'
import feathersExpress, { errorHandler, json, notFound, rest } from '@feathersjs/express'
import type { Params } from '@feathersjs/feathers'
import { feathers } from '@feathersjs/feathers'
import { MemoryService } from '@feathersjs/memory'

/** The package is this function, and its types say that it has it. */
const express = feathersExpress as unknown as typeof feathersExpress.default

interface TestScope {
  teardown(close: () => unknown): void
}

/** The records, which also say what a call was told. */
class TodoService extends MemoryService {
  override async get(id: number | string, params?: Params) {
    if (params?.query?.['error']) throw new Error('Something went wrong')
    if (params?.query?.['feathersError']) {
      throw new NotAcceptable('This is a Feathers error', { data: true })
    }
    const { authorization } = (params ?? {}) as { authorization?: string }
    return { ...(await super.get(id)), query: params?.query, authorization }
  }

  async customMethod(data: { readonly empty?: boolean }, { provider }: Params) {
    return data.empty ? null : { data, provider, type: 'customMethod' }
  }
}

const METHODS = ['find', 'get', 'create', 'update', 'patch', 'remove', 'customMethod']

/**
 * Starts a server of Feathers on Express, with the services `todos`, which has one record and pages of
 * five, `users/:userId/todos` and `echo`. Resolves to its URL.
 */
export async function startFeathersServer(t: TestScope): Promise<string> {
  const app = express(feathers())
  app.use(json())
  app.use((request, _response, next) => {
    const { authorization } = request.headers
    request.feathers = { ...request.feathers, authorization }
    next()
  })
  app.configure(rest())
  const todos = new TodoService({ multi: true, paginate: { default: 5, max: 10 } })
  app.use('todos', todos, { methods: METHODS })
  await todos.create({ text: 'some todo', complete: false })
  app.use('users/:userId/todos', {
    get: async (id: string, { route }: Params) => ({ id, route }),
  })
  app.use('echo', {
    find: async ({ query }: Params) => ({ query }),
    create: async (data: unknown) => ({ data }),
  })
  app.use(notFound())
  app.use(errorHandler({ logger: false }))
  const server = await app.listen(0)
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  if (!server.listening) await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

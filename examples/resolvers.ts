// Property resolvers: stored properties, properties added to results, and what external callers see.
// `npx tsx node_modules/remex/examples/resolvers.ts`.
import type { HookContext, Id, Params } from 'remex/core'
import { createApp, NotFound, toExternalForm } from 'remex/core'
import {
  resolve,
  resolveData,
  resolveExternal,
  resolveQuery,
  resolveResult,
  virtual,
} from 'remex/schema'

interface User {
  id: number
  email: string
  first: string
  last: string
  password?: string
  createdAt: Date
  fullName: string
}

interface Post {
  id: number
  text: string
  authorId: number
  author: User | null
}

/** Stores records in memory. */
class Memory<T extends { id: number }> {
  readonly id = 'id'
  readonly #records: T[] = []

  async find(_params?: Params): Promise<T[]> {
    return [...this.#records]
  }

  async get(id: Id, _params?: Params): Promise<T> {
    const record = this.#records[Number(id) - 1]
    if (record === undefined) throw new NotFound(`No record has the id '${id}'`)
    return record
  }

  async create(data: Partial<T>, _params?: Params): Promise<T> {
    const record = { ...data, id: this.#records.length + 1 } as T
    this.#records.push(record)
    return record
  }
}

type Users = Memory<User>
type Posts = Memory<Post>

const app = createApp<{ users: Users; posts: Posts }>()
  .use('users', new Memory<User>())
  .use('posts', new Memory<Post>())

const userData = resolve<User, HookContext<Users>>({
  email: (email) => email?.trim().toLowerCase(),
  createdAt: () => new Date(),
})

const userResult = resolve<User, HookContext<Users>>({
  fullName: virtual((user) => `${user.first} ${user.last}`),
})

const userExternal = resolve<User, HookContext<Users>>({
  password: () => undefined,
})

const userQuery = resolve<{ email?: string }, HookContext<Users>>({
  email: (email) => email?.toLowerCase(),
})

app.service('users').hooks({
  around: { all: [resolveExternal(userExternal), resolveResult(userResult)] },
  before: { all: [resolveQuery(userQuery)], create: [resolveData(userData)] },
})

const postResult = resolve<Post, HookContext<Posts>>({
  author: virtual(({ authorId }) => app.service('users').get(authorId)),
})

app.service('posts').hooks({ around: { all: [resolveResult(postResult)] } })

const data = { email: ' ADA@example.org', first: 'Ada', last: 'Byron', password: 'secret' }
const ada = await app.service('users').create(data)
console.log(ada)

const post = await app.service('posts').create({ text: 'Hello', authorId: ada.id })
console.log('outside:', toExternalForm(post))

const name = await app.service('users').get(ada.id, { query: { $select: ['fullName'] } })
console.log(name)

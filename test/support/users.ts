import type { Params } from '../../src/core/index.ts'
import { NotFound } from '../../src/core/index.ts'

export const SECRET = 'a secret of the tests, with 32 bytes and more'

/** Hashes that take about a millisecond. */
export const CHEAP_SCRYPT = { cost: 2 ** 10, blockSize: 8, parallelization: 1 }

/** Settings of `LocalStrategy`. */
export const LOCAL = { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT }

export const CREDENTIALS = Object.freeze({
  strategy: 'local',
  email: 'ada@example.org',
  password: 'correct horse',
})

export interface User {
  id: number
  email?: string
  password?: string
  [field: string]: unknown
}

interface Call {
  readonly method: string
  readonly query: Record<string, unknown> | undefined
  readonly provider: string | undefined
  readonly params: Params
}

/** Users in memory. Every call is written down: each would be a command to a database. */
export class UserService {
  readonly id = 'id'
  readonly users = new Map<string, User>()
  readonly calls: Call[] = []

  async find(params: Params = {}): Promise<User[]> {
    this.#note('find', params)
    return this.#match(params).slice(0, 10)
  }

  async get(id: string | number, params: Params = {}): Promise<User> {
    this.#note('get', params)
    const user = this.#match(params).find((one) => String(one.id) === String(id))
    if (user === undefined) throw new NotFound(`No record found for id '${id}'`)
    return user
  }

  async create(data: Partial<User>, params: Params = {}): Promise<User> {
    this.#note('create', params)
    const user = { ...data, id: data.id ?? this.users.size + 1 }
    this.users.set(String(user.id), user)
    return { ...user }
  }

  async patch(id: string | number, data: Partial<User>, params: Params = {}): Promise<User> {
    this.#note('patch', params)
    const user = this.#match(params).find((one) => String(one.id) === String(id))
    if (user === undefined) throw new NotFound(`No record found for id '${id}'`)
    this.users.set(String(id), { ...user, ...data })
    return { ...user, ...data }
  }

  async remove(id: string | number, params: Params = {}): Promise<User> {
    const user = await this.get(id, params)
    this.users.delete(String(id))
    return user
  }

  /** Methods called since the last time. */
  takeCalls(): Call[] {
    return this.calls.splice(0)
  }

  #note(method: string, params: Params): void {
    const { query, provider } = params
    this.calls.push({ method, query, provider, params })
  }

  #match({ query = {} }: Params): User[] {
    const conditions = Object.entries(query).filter(([name]) => !name.startsWith('$'))
    const matches = [...this.users.values()].filter((user) =>
      conditions.every(([name, value]) => user[name] === value),
    )
    return matches.map((user) => ({ ...user }))
  }
}

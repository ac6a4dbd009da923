import type { Id, Page, Params } from '../../src/core/index.ts'

export interface User {
  id: number
  email: string
}

export interface UserData {
  email: string
}

export interface UserParams extends Params {
  tenant?: string
}

/** A class with overloads, params of its own, a custom method and members that are no methods. */
export declare class UserService {
  readonly table: string
  find(params?: UserParams): Promise<Page<User>>
  get(id: Id, params?: UserParams): Promise<User>
  create(data: UserData, params?: UserParams): Promise<User>
  create(data: UserData[], params?: UserParams): Promise<User[]>
  patch(id: Id, data: Partial<UserData>, params?: UserParams): Promise<User>
  patch(id: null, data: Partial<UserData>, params?: UserParams): Promise<User[]>
  invite(data: { to: string }, params?: UserParams): Promise<{ sent: boolean }>
  _get(id: Id): Promise<User>
  setup(): Promise<void>
}

/** An object literal without types of its own. */
export const clock = {
  async get(id: 'now' | 'then') {
    return { id, at: new Date() }
  },
}

/** Named like methods of arrays. */
export interface ListService {
  find(params: Params<{ word: string }>): Promise<string[]>
  filter(data: { min: number }): Promise<number>
  map(data: { by: string }): Promise<boolean>
  values(data: { number: string }): Promise<void>
}

export interface Services {
  users: UserService
  clock: typeof clock
  'users/:userId/words': ListService
}

export interface Settings {
  port: number
  host?: string
  authentication: { secret: string }
}

import type { FastifyInstance } from 'fastify'
import { isAuthentication } from '../../auth/default-authentication.ts'
import type { Application } from '../../core/index.ts'
import { createPathTest } from './path-matcher.ts'

/**
 * Tells which URLs are at or below an authentication service, also those that no service answers.
 */
export class LoginPaths {
  readonly #app: Application
  readonly #scope: FastifyInstance
  /** One for each authentication service, `null` until somebody asks. */
  #tests: readonly ((url: string) => boolean)[] | null = null

  constructor(app: Application, scope: FastifyInstance) {
    this.#app = app
    this.#scope = scope
  }

  /** To be called when services come or go. */
  rebuild(): void {
    this.#tests = null
  }

  includes(url: string): boolean {
    this.#tests ??= this.#createTests()
    return this.#tests.some((isBelow) => isBelow(url))
  }

  #createTests(): ((url: string) => boolean)[] {
    return [...this.#app.entries]
      .filter(([, { service }]) => isAuthentication(service))
      .map(([path]) => createPathTest(`${this.#scope.prefix}/${path}`, this.#scope))
  }
}

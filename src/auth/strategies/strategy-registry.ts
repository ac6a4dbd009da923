import type { AuthenticationRequest } from '../../core/index.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationStrategy,
} from '../authentication.ts'
import { AuthenticationBaseStrategy } from './base-strategy.ts'

/** The strategies of an authentication service, by their names. */
export class StrategyRegistry {
  readonly #authentication: Authentication
  // A map, as names come from requests: an object would have a strategy `constructor`.
  readonly #strategies = new Map<string, AuthenticationStrategy>()

  constructor(authentication: Authentication) {
    this.#authentication = authentication
  }

  get names(): string[] {
    return [...this.#strategies.keys()]
  }

  /** The names of strategies whose settings are those of the base class. Others may define the same names differently. */
  get sections(): string[] {
    return this.names.filter((name) => this.get(name) instanceof AuthenticationBaseStrategy)
  }

  get(name: string): AuthenticationStrategy | undefined {
    return this.#strategies.get(name)
  }

  /** Adds a strategy. @throws {TypeError} it has no `authenticate`, or its settings are not valid */
  add(name: string, strategy: AuthenticationStrategy): void {
    if (typeof strategy?.authenticate !== 'function') {
      throw new TypeError(`The strategy '${name}' has no authenticate method`)
    }
    strategy.setName?.(name)
    strategy.setApplication?.(this.#authentication.app)
    strategy.setAuthentication?.(this.#authentication)
    strategy.verifyConfiguration?.()
    this.#strategies.set(name, strategy)
  }

  /** @throws {TypeError} the settings of a strategy are not valid */
  check(): void {
    for (const strategy of this.#strategies.values()) strategy.verifyConfiguration?.()
  }

  async setup(): Promise<void> {
    for (const [name, strategy] of this.#strategies) {
      await strategy.setup?.(this.#authentication, name)
    }
  }

  /**
   * Returns the credentials that the first of the named strategies or an extension reads. It is a promise only if a
   * strategy returns one.
   */
  parse(
    request: AuthenticationHttpRequest,
    reply: unknown,
    names: readonly string[],
    start = 0,
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null> {
    for (let index = start; index < names.length; index += 1) {
      const strategy = this.#strategies.get(names[index] ?? '')
      const parsed = strategy?.parse?.(request, reply) ?? null
      if (parsed instanceof Promise) {
        return parsed.then((value) => value ?? this.parse(request, reply, names, index + 1))
      }
      if (parsed !== null) return parsed
    }
    for (const extension of this.#authentication.loginExtensions ?? []) {
      const parsed = extension.parse?.(request, names) ?? null
      if (parsed !== null) return parsed
    }
    return null
  }
}

import type { AuthenticationRequest } from '../../core/index.ts'
import type {
  Authentication,
  AuthenticationHttpRequest,
  AuthenticationStrategy,
} from '../authentication.ts'

/** The strategies of one authentication service, by their names. */
export class StrategyRegistry {
  // A map, as names come from requests: an object would have a strategy `constructor`.
  readonly #strategies = new Map<string, AuthenticationStrategy>()
  #isReady = false

  get names(): string[] {
    return [...this.#strategies.keys()]
  }

  /**
   * Gives the strategy its name, application and service, has it check its settings, and keeps it.
   */
  register(service: Authentication, name: string, strategy: AuthenticationStrategy): void {
    if (typeof strategy?.authenticate !== 'function') {
      throw new TypeError(`The strategy '${name}' has no authenticate method`)
    }
    strategy.setName?.(name)
    strategy.setApplication?.(service.app)
    strategy.setAuthentication?.(service)
    strategy.verifyConfiguration?.()
    this.#strategies.set(name, strategy)
    if (this.#isReady) setUpLate(service, name, strategy)
  }

  get(name: string): AuthenticationStrategy | undefined {
    return this.#strategies.get(name)
  }

  /** Has every strategy check its settings, as these may have changed. */
  verify(): void {
    for (const strategy of this.#strategies.values()) strategy.verifyConfiguration?.()
  }

  /** Sets up the strategies, one after the other; those that are registered later at once. */
  async setup(service: Authentication): Promise<void> {
    this.#isReady = true
    for (const [name, strategy] of this.#strategies) await strategy.setup?.(service, name)
  }

  /**
   * Returns what the first of the named strategies reads from a request, `null` when none does. It
   * is a promise only from the first strategy on that returns one.
   */
  parse(
    request: AuthenticationHttpRequest,
    reply: unknown,
    names: readonly string[],
  ): AuthenticationRequest | null | Promise<AuthenticationRequest | null> {
    for (let index = 0; index < names.length; index += 1) {
      const strategy = this.#strategies.get(names[index] ?? '')
      const parsed = strategy?.parse?.(request, reply) ?? null
      if (parsed instanceof Promise) {
        const others = names.slice(index + 1)
        return parsed.then((value) => value ?? this.parse(request, reply, others))
      }
      if (parsed !== null) return parsed
    }
    return null
  }
}

function setUpLate(service: Authentication, name: string, strategy: AuthenticationStrategy): void {
  Promise.resolve()
    .then(() => strategy.setup?.(service, name))
    .catch((error: unknown) => {
      service.app.logger.error({ err: error, strategy: name }, 'The setup of a strategy failed')
    })
}

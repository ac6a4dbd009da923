import { ServiceError } from '../../core/index.ts'
import { toReason } from '../auth-errors.ts'
import type { AuthenticationParams } from '../authentication-params.ts'
import type { AccessTokenPayload } from '../tokens/token-claims.ts'
import type { AuthenticationBaseStrategy } from './base-strategy.ts'

/** What is known of a refused token. */
type Known = Partial<Pick<AccessTokenPayload, 'jti' | 'sub'>>

const MAX_LINES = 10
const WINDOW_MS = 10_000

/**
 * Logs refused tokens, ten times in ten seconds at most: a flood of forged tokens must not fill
 * the disk.
 */
export class RefusalLog {
  readonly #strategy: AuthenticationBaseStrategy
  #endsAt = 0
  #lines = 0
  #omitted = 0

  constructor(strategy: AuthenticationBaseStrategy) {
    this.#strategy = strategy
  }

  /**
   * Logs why a token was refused. Not logged are tokens that have expired, as those of every client
   * do, errors of the server, and logins and logouts from outside, which have their own line.
   */
  report(error: unknown, { jti, sub }: Known, { provider, address }: AuthenticationParams): void {
    if (provider || !isRefusal(error)) return
    const now = performance.now()
    if (now >= this.#endsAt) {
      this.#endsAt = now + WINDOW_MS
      this.#lines = 0
    }
    this.#lines += 1
    if (this.#lines > MAX_LINES) {
      this.#omitted += 1
      return
    }
    const omitted = this.#omitted === 0 ? {} : { omitted: this.#omitted }
    this.#omitted = 0
    const { app, name: strategy } = this.#strategy
    const known = jti === undefined ? {} : { jti, sub }
    const line = { event: 'token', strategy, address, ...known, ...toReason(error), ...omitted }
    app.logger.warn(line, 'Token refused')
  }
}

function isRefusal(error: unknown): error is ServiceError {
  if (!(error instanceof ServiceError) || error.code !== 401) return false
  return (error.data as { name?: unknown } | undefined)?.name !== 'TokenExpiredError'
}

import { isAway } from '../../core/errors/error-classes.ts'
import { ServiceError, Timeout } from '../../core/errors/index.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { AuthenticationClientOptions } from './client-options.ts'
import type { LoginData, LoginResult, LoginService } from './login-result.ts'
import type { OrderedStorage } from './token-storage.ts'

/** What {@link SessionRefresh} needs of its client. */
interface RefreshTools {
  readonly options: AuthenticationClientOptions
  readonly storage: OrderedStorage
  /** Returns the authentication service. */
  call(): LoginService
}

/** The locks that the tabs of a browser share. */
interface SharedLocks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** Servers answer a repeated refresh with the same tokens for ten seconds: these waits fit into them. */
const WAITS_MS: readonly number[] = [250, 1_000]

/** How long the first answer may take, so that a repeat is in time. */
const FIRST_TIMEOUT_MS = 5_000

/** How many of its last characters tell an access token from others. */
const TAG_LENGTH = 22

/**
 * Renews logins by refresh tokens. A refresh token is stored with the end of the access token that came with it, and
 * renews that login alone: tabs share the storage, where another login may have stored its access token.
 */
export class SessionRefresh {
  readonly #tools: RefreshTools
  readonly #key: string
  readonly #logins = new SerialQueue()

  constructor(tools: RefreshTools) {
    this.#tools = tools
    this.#key = `${tools.options.storageKey}-refresh`
  }

  /** Keeps the refresh token of a login, after its access token was kept. */
  async keep({ accessToken, refreshToken }: LoginResult): Promise<void> {
    // A login by an access token brings none, and leaves the one that is there.
    if (!isNonEmptyString(refreshToken)) return
    await this.#tools.storage.setItem(this.#key, `${toTag(accessToken)} ${refreshToken}`)
  }

  /** Removes the refresh token from the storage. */
  async drop(): Promise<void> {
    await this.#tools.storage.removeItem(this.#key)
  }

  /** Resolves to the stored refresh token with the end of its access token, for {@link toToken}; `null` for none. */
  async readEntry(): Promise<string | null> {
    return this.#tools.storage.getItem(this.#key)
  }

  /** Returns the refresh token that has come with an access token, `undefined` for none. */
  toToken(entry: string | null, accessToken: string): string | undefined {
    const [tag, refreshToken] = entry?.split(' ') ?? []
    return tag === toTag(accessToken) ? refreshToken : undefined
  }

  /** Resolves to the renewed login, `undefined` where there is no refresh token. */
  async refresh(accessToken: string): Promise<LoginResult | undefined> {
    const refreshToken = this.toToken(await this.readEntry(), accessToken)
    return refreshToken === undefined ? undefined : this.send({ strategy: 'refresh', refreshToken })
  }

  /** Sends a refresh, and repeats it where its answer may be lost. Resolves to the renewed login. */
  async send(data: LoginData): Promise<LoginResult> {
    const service = this.#tools.call()
    const first = { connection: { timeoutMs: FIRST_TIMEOUT_MS } }
    for (const [index, waitMs] of WAITS_MS.entries()) {
      try {
        return await service.create(data, index === 0 ? first : undefined)
      } catch (error) {
        const status = error instanceof ServiceError ? error.code : 0
        // Otherwise the server may have renewed the session, or may do so a little later.
        if (!isAway(status) && status !== Timeout.code) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
    return service.create(data)
  }

  /**
   * Runs a login while no other tab of the browser does: each finds the token that the one before has stored. With
   * cookies, logins and logouts of a client are in order in any case: those of the last answer stay.
   */
  lock<T>(work: () => Promise<T>): Promise<T> {
    const { location, navigator } = globalThis as {
      readonly location?: object
      readonly navigator?: { readonly locks?: SharedLocks }
    }
    const { cookie, path, storageKey } = this.#tools.options
    const run = cookie ? () => this.#logins.run(work) : work
    // Elsewhere than in a browser, one process has logins of many users.
    const locks = location == null ? undefined : navigator?.locks
    if (locks === undefined) return run()
    let hasBegun = false
    const begin = (): Promise<T> => {
      hasBegun = true
      return work()
    }
    // A browser that keeps nothing of this site has no locks for it either.
    return locks.request(`remex ${storageKey} ${path}`, begin).catch((error: unknown) => {
      if (hasBegun) throw error
      return run()
    })
  }
}

/** Returns the end of an access token. */
function toTag(accessToken: string): string {
  return accessToken.slice(-TAG_LENGTH)
}

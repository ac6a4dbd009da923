import type { Login, LoginResult, LoginState } from './login-state.ts'
import { toClaims } from './login-state.ts'

/** What renewing tokens needs of an authentication client. */
export interface RenewedLogin {
  readonly state: LoginState
  /** Resolves to the token in the storage, `null` for none. */
  readToken(): Promise<string | null>
  /** Logs in anew. */
  renew(): Promise<LoginResult>
}

/** Why a call was refused: its token had expired for certain, or anything else about a token. */
export type RefusalReason = 'expired' | 'other'

/** Logs in anew where the server refuses a token: once for all calls that it was sent with. */
export class TokenRenewal {
  readonly #login: RenewedLogin
  /** The renewal that goes on. */
  #running: Promise<void> | undefined
  /** The numbers of the last login that was renewed by its own means, and of what replaced it. */
  #renewed: { readonly from: number; readonly to: number } | undefined

  /** The token that the server accepted at a login after services had refused it, and why they had. */
  #confirmed: { readonly accessToken: string; readonly reasons: Set<RefusalReason> } | undefined

  constructor(login: RenewedLogin) {
    this.#login = login
  }

  /**
   * Resolves to the login of the same user that took the place of a refused one; `undefined` if
   * nobody is logged in any more, or somebody who may be another user. A token that a renewal has
   * confirmed is not renewed for the same reason again: each call would lead to one more login.
   */
  async replace(refused: Login, reason: RefusalReason): Promise<Login | undefined> {
    const { state } = this.#login
    if (state.login === refused && !this.#isConfirmed(refused, reason)) {
      this.#running ??= this.#run(refused).finally(() => {
        this.#running = undefined
      })
      await this.#running
      if (state.login?.accessToken === refused.accessToken) this.#confirm(refused, reason)
    }
    const { login } = state
    return login !== undefined && this.#isSameUser(login, refused) ? login : undefined
  }

  #isConfirmed({ accessToken }: Login, reason: RefusalReason): boolean {
    return this.#confirmed?.accessToken === accessToken && this.#confirmed.reasons.has(reason)
  }

  #confirm({ accessToken }: Login, reason: RefusalReason): void {
    if (this.#confirmed?.accessToken !== accessToken) {
      this.#confirmed = { accessToken, reasons: new Set() }
    }
    this.#confirmed.reasons.add(reason)
  }

  async #run(refused: Login): Promise<void> {
    const { state } = this.#login
    // The user may be logging in as somebody else right now.
    if (state.pending !== undefined) {
      await state.pending
      return
    }
    // An unreadable storage is no proof that its token is the one of the refused login.
    const reading = this.#login.readToken().catch(() => null)
    const [kept, result] = await Promise.all([reading, this.#login.renew()])
    const { login } = state
    if (login?.result !== result || login.replaces !== refused.number) return
    const usesOwnToken = login.proof === undefined || login.proof === refused.accessToken
    if (kept !== refused.accessToken || !usesOwnToken) return
    this.#renewed = { from: refused.number, to: login.number }
  }

  /**
   * Users are compared by the claim `sub`. Tokens without one are of the same user only if the refused login
   * itself was renewed: with its token still in the storage, which pages share, and with no logout
   * and no login of somebody else meanwhile.
   */
  #isSameUser(login: Login, refused: Login): boolean {
    const { sub } = toClaims(login)
    const { sub: refusedSub } = toClaims(refused)
    if (sub != null && refusedSub != null) return sub === refusedSub
    return this.#renewed?.from === refused.number && this.#renewed.to === login.number
  }
}

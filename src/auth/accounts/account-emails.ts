import type { Application } from '../../core/index.ts'
import type { Entity } from '../entity-service.ts'
import { omitFields } from '../hooks/protect.ts'
import { isAddress } from './account-data.ts'
import type { AccountNotice, ResolvedAccountOptions } from './account-options.ts'
import { findAccountSetting } from './account-options.ts'

/** How long the application waits for emails when it closes. */
const CLOSE_MS = 5000

/** The emails being sent. They are sent after the responses to the calls that cause them. */
export class AccountEmails {
  readonly #app: Application
  readonly #options: ResolvedAccountOptions
  readonly #running = new Set<Promise<void>>()

  constructor(app: Application, options: ResolvedAccountOptions) {
    this.#app = app
    this.#options = options
  }

  /**
   * Sends an email after the response, and logs failures.
   * @param create resolves to the notice with the user as it is stored, `null` if no email is to be sent
   */
  start(kind: AccountNotice['kind'], create: () => Promise<AccountNotice | null>): void {
    const email = new Promise((resolve) => setImmediate(resolve))
      .then(create)
      .then((notice) => (notice === null ? undefined : this.#notify(notice)))
      .catch((error: unknown) => {
        this.#app.logger.error({ err: error, kind }, 'An account email could not be sent')
      })
      .finally(() => this.#running.delete(email))
    this.#running.add(email)
  }

  /** Waits for them, for five seconds at most. */
  async settle(): Promise<void> {
    const limit = new Promise((resolve) => setTimeout(resolve, CLOSE_MS).unref())
    await Promise.race([Promise.allSettled(this.#running), limit])
  }

  /** Rejects with only the text of an error: any of its fields may contain the email, and with it the token. */
  async #notify(notice: AccountNotice): Promise<void> {
    // The application stores users, with its own rules for addresses or none.
    if (!isAddress(notice.email)) {
      throw new TypeError('The stored address of the user is not one email address')
    }
    const { passwordField } = findAccountSetting(this.#app, this.#options)
    const user = omitFields(notice.user, [passwordField]) as Entity
    try {
      await this.#options.notify({ ...notice, user })
    } catch (error) {
      const text = String(error)
      throw new Error(notice.token === undefined ? text : text.replaceAll(notice.token, '[token]'))
    }
  }
}

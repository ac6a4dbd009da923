import type { Application } from '../../core/index.ts'
import { isAddress } from './account-data.ts'
import type { AccountNotice } from './account-options.ts'

/** How long the application waits for mails when it closes. */
const CLOSE_MS = 5000

/** Sends mails after the answers to the calls that cause them. */
export class AccountMails {
  readonly #app: Application
  readonly #notify: (notice: AccountNotice) => unknown
  readonly #underWay = new Set<Promise<void>>()

  constructor(app: Application, notify: (notice: AccountNotice) => unknown) {
    this.#app = app
    this.#notify = notify
  }

  /**
   * Sends a mail after the answer, and logs what fails.
   * @param create resolves to the notice, `null` where nobody is to get one
   */
  start(kind: AccountNotice['kind'], create: () => Promise<AccountNotice | null>): void {
    const mail = new Promise((resolve) => setImmediate(resolve))
      .then(create)
      .then((notice) => (notice === null ? undefined : this.#send(notice)))
      .catch((error: unknown) => {
        this.#app.logger.error({ err: error, kind }, 'A mail of an account could not be sent')
      })
      .finally(() => this.#underWay.delete(mail))
    this.#underWay.add(mail)
  }

  /** Waits for mails under way, for five seconds at most. */
  async end(): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS)
    })
    await Promise.race([Promise.allSettled(this.#underWay), limit])
    clearTimeout(timer)
  }

  /** Rejects with the text of an error alone: any of its fields may have the mail, and with it the token. */
  async #send(notice: AccountNotice): Promise<void> {
    // The application stores users, with its own rules for addresses or none.
    if (!isAddress(notice.email)) {
      throw new TypeError('The stored address of the user is not one email address')
    }
    try {
      await this.#notify(notice)
    } catch (error) {
      const text = String(error)
      throw new Error(notice.token === undefined ? text : text.replaceAll(notice.token, '[token]'))
    }
  }
}

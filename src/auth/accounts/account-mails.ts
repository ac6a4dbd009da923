import type { Application } from '../../core/index.ts'
import type { AccountNotice } from './account-options.ts'

/** How long the end of the application waits for mails. */
const CLOSE_MS = 5000

/** Sends mails after the answers that they belong to. */
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

  /** Errors of mail functions may have the mail, and the token in it, in any of their fields. */
  async #send(notice: AccountNotice): Promise<void> {
    try {
      await this.#notify(notice)
    } catch (error) {
      const text = String(error)
      throw new Error(notice.token === undefined ? text : text.replaceAll(notice.token, '[token]'))
    }
  }
}

import { GeneralError } from '../../core/errors/index.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'

/** Where a token is kept: `localStorage` of a browser, or anything like it; promises will do. */
export interface TokenStorage {
  /** Returns the string that is kept by a name; anything else for none. */
  getItem(key: string): unknown
  /** Keeps a string by a name. */
  setItem(key: string, value: string): unknown
  /** Removes the string that is kept by a name. */
  removeItem(key: string): unknown
}

/** Keeps tokens for as long as the client lives. */
export class MemoryStorage implements TokenStorage {
  readonly #items = new Map<string, string>()

  /** Resolves to the string that is kept by a name, `null` for none. */
  async getItem(key: string): Promise<string | null> {
    return this.#items.get(key) ?? null
  }

  /** Keeps a string by a name. */
  async setItem(key: string, value: string): Promise<void> {
    this.#items.set(key, value)
  }

  /** Removes the string that is kept by a name. */
  async removeItem(key: string): Promise<void> {
    this.#items.delete(key)
  }
}

/** Whether a value has the methods of a {@link TokenStorage}. */
export function isTokenStorage(value: unknown): value is TokenStorage {
  const names = ['getItem', 'setItem', 'removeItem']
  return isObject(value) && names.every((name) => typeof value[name] === 'function')
}

/**
 * A storage whose calls come one after the other: the token of a login that is kept slowly can not
 * come back after the logout.
 */
export class OrderedStorage implements TokenStorage {
  readonly #storage: TokenStorage
  readonly #calls = new SerialQueue()

  constructor(storage: TokenStorage) {
    this.#storage = storage
  }

  /** @throws {GeneralError} the storage failed */
  async getItem(key: string): Promise<string | null> {
    const value = await this.#run(() => this.#storage.getItem(key), 'give out')
    return isNonEmptyString(value) ? value : null
  }

  /** @throws {GeneralError} the storage failed */
  async setItem(key: string, value: string): Promise<void> {
    await this.#run(() => this.#storage.setItem(key, value), 'keep')
  }

  /**
   * Removes what is kept by a name; if values are given, only if it is one of them. Resolves to whether it did so.
   * @throws {GeneralError} the storage failed
   */
  async removeItem(key: string, values?: ReadonlySet<string>): Promise<boolean> {
    const remove = async (): Promise<boolean> => {
      const isRemoved = values === undefined || (await this.#mayHold(key, values))
      if (isRemoved) await this.#storage.removeItem(key)
      return isRemoved
    }
    return (await this.#run(remove, 'remove')) === true
  }

  async #mayHold(key: string, values: ReadonlySet<string>): Promise<boolean> {
    try {
      const value = await this.#storage.getItem(key)
      return !isNonEmptyString(value) || values.has(value)
    } catch {
      // A token that stays after a logout does more harm than a login that is lost.
      return true
    }
  }

  #run(operation: () => unknown, verb: string): Promise<unknown> {
    return this.#calls.run(operation).catch((error: unknown) => {
      // No `cause`: the message of the storage's own error may hold the token.
      const name = error instanceof Error ? error.name : typeof error
      throw new GeneralError(`The storage failed to ${verb} the access token (${name})`)
    })
  }
}

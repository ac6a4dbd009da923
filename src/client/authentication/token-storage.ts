import { TokenStorageFailed } from '../../core/errors/coded-errors.ts'
import { SerialQueue } from '../../core/serial-queue.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'

/** Stores tokens: `localStorage` of a browser or a similar object, which may return promises. */
export interface TokenStorage {
  /** Returns the string stored under a key; any other value means none. */
  getItem(key: string): unknown
  /** Stores a string under a key. */
  setItem(key: string, value: string): unknown
  /** Removes the string under a key. */
  removeItem(key: string): unknown
}

/** Stores tokens in memory, for the life of the client. */
export class MemoryStorage implements TokenStorage {
  readonly #items = new Map<string, string>()

  /** Resolves to the string stored under a key, `null` if there is none. */
  async getItem(key: string): Promise<string | null> {
    return this.#items.get(key) ?? null
  }

  /** Stores a string under a key. */
  async setItem(key: string, value: string): Promise<void> {
    this.#items.set(key, value)
  }

  /** Removes the string under a key. */
  async removeItem(key: string): Promise<void> {
    this.#items.delete(key)
  }
}

/** Returns whether a value has the methods of a {@link TokenStorage}. */
export function isTokenStorage(value: unknown): value is TokenStorage {
  const names = ['getItem', 'setItem', 'removeItem']
  return isObject(value) && names.every((name) => typeof value[name] === 'function')
}

/**
 * A storage whose calls run one after another, so that a token that is stored slowly cannot reappear after the logout.
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
   * Removes the string under a key; if values are given, only if it is one of them. Resolves to whether it did.
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
      // A token that stays after a logout does more harm than a lost login.
      return true
    }
  }

  #run(operation: () => unknown, verb: string): Promise<unknown> {
    return this.#calls.run(operation).catch((error: unknown) => {
      // Without `cause`: the message of the storage's own error may contain the token.
      const name = error instanceof Error ? error.name : typeof error
      throw new TokenStorageFailed(`The storage failed to ${verb} the access token (${name})`)
    })
  }
}

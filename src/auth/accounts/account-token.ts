import { createRandom, hashString } from '../../core/secrets/opaque-token.ts'
import { orUnavailable } from '../auth-errors.ts'

/** The purpose of an emailed token: to verify an address, to reset a password, or to verify a new address. */
export type TokenPurpose = 'verify' | 'reset' | 'change'

/** The parts of a token's text. Whether it was ever issued has not been checked yet. */
export interface AccountToken {
  readonly text: string
  readonly purpose: TokenPurpose
  /** The id of its user as a string. */
  readonly userId: string
}

/** The stored form of the one token that a user has for a purpose. */
export interface StoredToken {
  /** Its purpose, the service of its user and the id of the user, so that the next token replaces it. */
  readonly _id: string
  readonly hash: string
  /** The address of the user when the email was sent. */
  readonly email: string
  /** The new address that replaces it, `null` if there is none. */
  readonly newEmail: string | null
  /** The hash of the stored password at that time, `null` if the password does not matter. */
  readonly passwordMark: string | null
  readonly expiresAt: Date
}

/** The methods of a MongoDB collection that emailed tokens need. */
export interface AccountTokenCollection {
  /** As that of the driver. */
  createIndex(keys: Record<string, 1>, options: { expireAfterSeconds: number }): Promise<unknown>
  /** As that of the driver. */
  updateOne(filter: object, update: object, options: { upsert: boolean }): Promise<unknown>
  /** As that of the driver. */
  findOneAndDelete(filter: object): Promise<unknown>
}

/** `<purpose>.<user>.<256 random bits>` */
const FORMAT = /^(verify|reset|change)\.([\w-]{1,700})\.[\w-]{43}$/

/** Returns a new token, which is not stored yet. */
export function createAccountToken(purpose: TokenPurpose, userId: string): AccountToken {
  const user = Buffer.from(userId).toString('base64url')
  return { text: `${purpose}.${user}.${createRandom()}`, purpose, userId }
}

/** Returns the parts of a token; `null` if the format does not match. */
export function readAccountToken(text: string): AccountToken | null {
  const [, purpose, user] = FORMAT.exec(text) ?? []
  if (purpose === undefined || user === undefined) return null
  const userId = Buffer.from(user, 'base64url').toString()
  return { text, purpose: purpose as TokenPurpose, userId }
}

/** Returns a hash of a stored password, to recognize later whether it has changed. */
export function markPassword(stored: unknown): string {
  return hashString(`password ${String(stored ?? '')}`)
}

const STORED = 'The tokens of accounts'

/** Emailed tokens in a collection, which all processes share. */
export class AccountTokens {
  readonly #collection: AccountTokenCollection

  constructor(collection: AccountTokenCollection) {
    this.#collection = collection
  }

  /** Creates the index that lets the database delete expired tokens. */
  async createIndex(): Promise<void> {
    await this.#collection.createIndex({ expiresAt: 1 }, { expireAfterSeconds: 0 })
  }

  /**
   * Stores a token. It replaces the user's previous token for this purpose.
   * @param users the path of the service with its user
   */
  async add(
    token: AccountToken,
    users: string,
    fields: Omit<StoredToken, '_id' | 'hash'>,
  ): Promise<void> {
    const stored = { ...fields, hash: hashString(token.text) }
    await this.#run({ _id: toId(token, users) }, { $set: stored })
  }

  /**
   * Removes a token from the collection with one command, so that only one of several concurrent calls gets it.
   * Resolves to `null` if the token never existed, or was replaced, used or has expired.
   */
  async take(token: AccountToken, users: string): Promise<StoredToken | null> {
    const unexpired = { hash: hashString(token.text), expiresAt: { $gt: new Date() } }
    const filter = { _id: toId(token, users), ...unexpired }
    const found = orUnavailable(STORED, () => this.#collection.findOneAndDelete(filter))
    return (await found) as StoredToken | null
  }

  /** Stores a token again after its change has failed, unless there is a newer one. */
  async putBack({ _id, ...fields }: StoredToken): Promise<void> {
    await this.#run({ _id }, { $setOnInsert: fields })
  }

  async #run(filter: object, update: object): Promise<void> {
    await orUnavailable(STORED, () => this.#collection.updateOne(filter, update, { upsert: true }))
  }
}

function toId({ purpose, userId }: AccountToken, users: string): string {
  return `${purpose} ${users} ${userId}`
}

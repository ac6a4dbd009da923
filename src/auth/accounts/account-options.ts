import type { OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { hasMethods } from '../settings-values.ts'
import { parseTimeSpan, TIME_SPAN } from '../tokens/token-options.ts'
import type { AccountTokenCollection } from './account-token.ts'

/** What the user of an account is to be told by mail. */
export type AccountNotice = AccountLink | AccountChange

/** What all notices have. */
interface NoticeBase {
  /** Where the mail goes to. */
  readonly email: string
  /** The user as it is stored, without the password. */
  readonly user: Readonly<Record<string, unknown>>
}

/** A mail with a link, whose page calls a method of the service with the token. */
export interface AccountLink extends NoticeBase {
  /**
   * `verify`: the address of the account, by `verifyEmail()`. `reset`: a new password, by `resetPassword()`.
   * `change`: a new address of the account, by `verifyEmail()`.
   */
  readonly kind: 'verify' | 'reset' | 'change'
  /** Letters, digits, `-`, `_` and `.`: it needs no encoding in URLs. */
  readonly token: string
}

/** A mail about a change that was made: its user learns of it if somebody else has made it. */
export interface AccountChange extends NoticeBase {
  /** `emailChanged` goes to the old address. */
  readonly kind: 'passwordChanged' | 'emailChanged'
  /** A mail about a change has no link. */
  readonly token?: undefined
}

/** Options of an {@link AccountService}. */
export interface AccountOptions {
  /** Sends a mail. Answers do not wait for it; what it throws is logged without the token. */
  readonly notify: (notice: AccountNotice) => unknown
  /** The collection that stores the hashes of tokens: `db.collection('accountTokens')`. */
  readonly tokens: AccountTokenCollection
  /** How long tokens live: seconds, or a string like `'30m'`. Default: `'1h'`. */
  readonly expiresIn?: number | string
  /** The path of the authentication service. Default: the default one. */
  readonly authentication?: string
  /** The name of the local strategy, which checks passwords. Default: `'local'`. */
  readonly strategy?: string
  /** The field of users with the e-mail address. Default: the field that the strategy finds user names in. */
  readonly emailField?: string
  /** The field of users that is `true` once the address is verified. Default: `'isVerified'`. */
  readonly verifiedField?: string
}

/** The options with their defaults, but for those that need the authentication service. */
export interface ResolvedAccountOptions extends Omit<AccountOptions, 'expiresIn'> {
  readonly lifetimeMs: number
  readonly strategy: string
  readonly verifiedField: string
}

const REQUIRED = ['notify', 'tokens'] as const

const RULES: Readonly<Record<keyof AccountOptions, OptionRule>> = {
  notify: OPTION.function,
  tokens: {
    expected: "a collection, db.collection('accountTokens')",
    isValid: (value) => hasMethods(value, ['createIndex', 'updateOne', 'findOneAndDelete']),
  },
  expiresIn: TIME_SPAN,
  authentication: OPTION.string,
  strategy: OPTION.string,
  emailField: OPTION.string,
  verifiedField: OPTION.string,
}

/** @throws {TypeError} an unknown option, one that is not valid, or a required one is missing */
export function resolveAccountOptions(given: AccountOptions): ResolvedAccountOptions {
  checkOptions('AccountService', given, RULES)
  const missing = REQUIRED.find((name) => given[name] === undefined)
  if (missing !== undefined) {
    throw new TypeError(`AccountService: the option '${missing}' is missing`)
  }
  const { expiresIn = '1h', strategy = 'local', verifiedField = 'isVerified', ...others } = given
  const seconds = parseTimeSpan(expiresIn, 'expiresIn')
  if (seconds < 1) {
    throw new TypeError(`AccountService: 'expiresIn' must be at least a second`)
  }
  return { ...others, strategy, verifiedField, lifetimeMs: seconds * 1000 }
}

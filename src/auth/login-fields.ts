import { isObject } from '../core/value-kind.ts'
import type { Authentication } from './authentication.ts'

/** The fields of users in which strategies look up passwords and user names. */
export interface LoginFields {
  readonly passwords: readonly string[]
  readonly names: readonly string[]
}

type Settings = Readonly<Record<string, unknown>>

/** Returns the fields of users in which the strategies of a service look up passwords and user names. */
export function listLoginFields(authentication: Authentication): LoginFields {
  const all = authentication.strategyNames.map((name) => {
    const { configuration } = (authentication.getStrategy(name) ?? {}) as {
      readonly configuration?: Settings
    }
    return configuration ?? {}
  })
  const list = (read: (one: Settings) => unknown): string[] => [
    ...new Set(all.map(read).filter((name) => typeof name === 'string')),
  ]
  return {
    passwords: list((one) => one['entityPasswordField'] ?? one['passwordField']),
    names: list((one) => one['entityUsernameField']),
  }
}

/** The changes that the data of a patch makes. */
export interface Change {
  readonly fields: Readonly<Record<string, unknown>>
  /** The new names in `$rename`. */
  readonly targets: readonly unknown[]
  readonly removed: readonly string[]
}

/** Returns the changes that the data of a patch makes, given as fields or MongoDB operators. */
export function readChange(data: unknown): Change {
  const { $set, $unset, $rename, ...fields } = isObject(data) ? data : {}
  return {
    fields: Object.assign({}, fields, $set, $unset, $rename),
    targets: isObject($rename) ? Object.values($rename) : [],
    removed: isObject($unset) ? Object.keys($unset) : [],
  }
}

/** Returns whether a change sets the password of a login. */
export function setsPassword({ passwords }: LoginFields, change: Change): boolean {
  return passwords.some((path) => writesField(change, path))
}

/** Returns whether a change writes a field, by its path or by replacing an object that contains it. */
export function writesField({ fields, targets }: Change, path: string): boolean {
  const given = Object.keys(fields).filter((name) => fields[name] !== undefined)
  return [...given, ...targets].some((name) => name === path || path.startsWith(`${name}.`))
}

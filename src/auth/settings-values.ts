import type { OptionRule } from '../core/options/option-check.ts'
import { isNonEmptyString, isObject, isPlainObject, isStringList } from '../core/value-kind.ts'

/** Keys that reach the prototype of an object. No setting may use them. */
const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Settings that are known only to be an object. */
export type SettingsObject = Record<string, unknown>

/** Returns whether a value is merged and copied. Objects with methods, for example stores, are kept as they are. */
function isSettings(value: unknown): value is SettingsObject {
  return isPlainObject(value) && !Object.values(value).some((one) => typeof one === 'function')
}

/**
 * Returns a deep copy of the settings, with later ones overriding earlier ones: objects are merged key by key, other
 * values are replaced, and objects with methods are kept. Keys that reach a prototype are dropped; `undefined`
 * overrides nothing.
 */
export function mergeSettings(...settings: readonly unknown[]): SettingsObject {
  const merged: SettingsObject = {}
  for (const source of settings) {
    if (!isPlainObject(source)) continue
    for (const [key, value] of Object.entries(source)) {
      if (value === undefined || FORBIDDEN_KEYS.has(key)) continue
      const present = merged[key]
      merged[key] =
        isSettings(present) && isSettings(value)
          ? mergeSettings(present, value)
          : copySetting(value)
    }
  }
  return merged
}

/** Freezes settings and lists at every depth; objects with methods stay as they are. */
export function freezeDeep<T>(value: T): T {
  if (!Array.isArray(value) && !isSettings(value)) return value
  for (const item of Object.values(value)) if (typeof item === 'object') freezeDeep(item)
  return Object.freeze(value)
}

/**
 * Returns whether two settings are equal. Lists and settings are compared by content, everything else by identity, as
 * instances may differ in private fields.
 */
export function isSameSetting(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  const areLists = Array.isArray(one) && Array.isArray(other)
  if (!areLists && !(isSettings(one) && isSettings(other))) return false
  const [first, second] = [one, other] as [SettingsObject, SettingsObject]
  const keys = Object.keys(first)
  return (
    keys.length === Object.keys(second).length &&
    keys.every((key) => Object.hasOwn(second, key) && isSameSetting(first[key], second[key]))
  )
}

/** Returns a function that derives a value from settings, again only once they have been replaced. */
export function deriveOnce<Settings, T>(
  read: () => Settings,
  derive: (settings: Settings) => T,
): () => T {
  let known: { readonly settings: Settings; readonly value: T } | undefined
  return () => {
    const settings = read()
    if (known === undefined || known.settings !== settings)
      known = { settings, value: derive(settings) }
    return known.value
  }
}

function copySetting(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copySetting)
  return isSettings(value) ? mergeSettings(value) : value
}

/** Option rules shared by strategies, tokens, passwords and limits. */
export const AUTH_OPTION: Readonly<Record<'stringOrList' | 'positiveNumber', OptionRule>> = {
  stringOrList: {
    expected: 'a non-empty string or a list of them',
    isValid: isStringOrList,
  },
  /** Excludes `Infinity`: a window that never ends would lock users out for good. */
  positiveNumber: {
    expected: 'a number above zero',
    isValid: (value) => Number.isFinite(value) && Number(value) > 0,
  },
}

/** Returns whether a value is a non-empty string, or a list with at least one. */
export function isStringOrList(value: unknown): value is string | readonly string[] {
  return isNonEmptyString(value) || (isStringList(value) && value.length > 0)
}

/**
 * Returns whether a value is an origin as browsers send it: `https://host`, with the port if it is not the default, and
 * not `*`.
 */
export function isOrigin(value: unknown): value is string {
  return typeof value === 'string' && parseUrl(value)?.origin === value
}

/** Returns an absolute URL, `null` if the value is not one. */
export function parseUrl(value: unknown): URL | null {
  return typeof value === 'string' && URL.canParse(value) ? new URL(value) : null
}

/** Returns whether a value is an object with all of these methods. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === 'function')
}

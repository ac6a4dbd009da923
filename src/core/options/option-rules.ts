import { OptionError } from '../errors/setup-errors.ts'
import { isNonEmptyString, isObject, isStringList } from '../value-kind.ts'

/** What an option may be, in words and as a test, and the rules for its nested options. */
export interface OptionRule {
  /** Completes the sentence `The option must be …`. */
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
  /**
   * Rules for all keys of an option that is an object or a list of objects. These and the next ones are for
   * servers: only `core/options/option-check` reads them.
   */
  readonly keys?: OptionRules
  /**
   * Set for an option that holds options of other packages. None of them may have the name of a sibling rule,
   * one of these names, or a likely misspelling of either.
   */
  readonly reserved?: readonly string[]
}

/** Rules for all options, by name. */
export type OptionRules = Readonly<Record<string, OptionRule>>

/** Some of the options of a kind; `undefined` means not given. */
export type Given<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

// Constants instead of a table: bundlers keep a table that reads another one, even if it is unused.

export const BOOLEAN_OPTION: OptionRule = {
  expected: 'true or false',
  isValid: (value) => typeof value === 'boolean',
}

export const STRING_OPTION: OptionRule = {
  expected: 'a non-empty string',
  isValid: isNonEmptyString,
}

export const STRING_LIST_OPTION: OptionRule = {
  expected: 'a list of non-empty strings',
  isValid: isStringList,
}

export const COUNT_OPTION: OptionRule = {
  expected: 'a whole number from 0 on',
  isValid: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
}

export const POSITIVE_INTEGER_OPTION: OptionRule = {
  expected: 'a whole number from 1 on',
  isValid: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
}

/** `Infinity` means no limit. */
export const LIMIT_OPTION: OptionRule = {
  expected: 'a number from 0 on',
  isValid: (value) => typeof value === 'number' && value >= 0,
}

export const OBJECT_OPTION: OptionRule = { expected: 'an object', isValid: isOptionsObject }

/** The place of options, and how errors suggest names for unknown ones. */
interface OptionPlace {
  /** The path to nested options: `json.`. */
  readonly prefix?: string
  /** Suggests a name. Default: errors about unknown options list the known ones. */
  readonly suggestName?: (mistyped: string, names: readonly string[]) => string
}

/**
 * Checks options by a table: a mistyped limit or guard must not be ignored. `undefined` means not given.
 * Errors do not repeat values, which may be secret.
 * @param owner who takes the options, for the error: `rest()`, `params.adapter`
 * @throws {TypeError} the options are not an object, or one is unknown or has an invalid value
 */
export function checkRules(
  owner: string,
  options: unknown,
  rules: OptionRules,
  { prefix = '', suggestName }: OptionPlace = {},
): void {
  if (!isObject(options)) {
    const kind = options === null ? 'null' : typeof options
    throw new OptionError(`${owner}: the options must be an object, not ${kind}`)
  }
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) {
      const known = Object.keys(rules)
      const hint = suggestName?.(name, known) || `, allowed are ${known.join(', ')}`
      throw new OptionError(`${owner}: unknown option '${prefix}${name}'${hint}`)
    }
    if (value !== undefined && !rule.isValid(value)) {
      throw new OptionError(`${owner}: the option '${prefix}${name}' must be ${rule.expected}`)
    }
  }
}

/** Instances of a class are options too; lists are not. */
export function isOptionsObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value)
}

/** Returns defaults overridden by the given options; `undefined` keeps the default. */
export function withDefaults<T extends object>(defaults: T, given: Given<T>): T {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(entries) }
}

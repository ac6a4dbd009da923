import { isNonEmptyString, isObject, isStringList } from '../value-kind.ts'

/** What an option may be, in words and as a test, and inside of it. */
export interface OptionRule {
  /** Completes the sentence `The option must be …`. */
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
  /**
   * Rules for the keys of an option that is an object or a list of objects; there are no others. These and
   * the next ones are for servers: `core/options/option-check` alone reads them.
   */
  readonly keys?: OptionRules
  /**
   * Set for an option that holds options of other packages. None of them may have the name of a rule
   * beside this one, or one of these names, or one that may be mistyped for them.
   */
  readonly reserved?: readonly string[]
}

/** Rules by the name of the option; there are no others. */
export type OptionRules = Readonly<Record<string, OptionRule>>

/** Some of the options of a kind; one that is `undefined` is not given. */
export type Given<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

// Constants, and not a table: bundlers keep a table that reads another one, used or not.

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

/** `Infinity` stands for no limit. */
export const LIMIT_OPTION: OptionRule = {
  expected: 'a number from 0 on',
  isValid: (value) => typeof value === 'number' && value >= 0,
}

export const OBJECT_OPTION: OptionRule = { expected: 'an object', isValid: isOptionsObject }

/** Where options stand, and what is said of unknown ones. */
interface OptionPlace {
  /** The way to options inside of others: `json.`. */
  readonly prefix?: string
  /** Suggests a name. Default: errors of unknown options name those that there are. */
  readonly suggestName?: (mistyped: string, names: readonly string[]) => string
}

/**
 * Checks options by a table: a mistyped limit or guard that was ignored would simply be missing. An
 * option that is `undefined` is one that is not given. The value is not repeated in the error,
 * since it may be a secret.
 * @param owner who takes the options, for the error: `rest()`, `params.adapter`
 * @throws {TypeError} no object, an option that is not known, or a value that it can't have
 */
export function checkRules(
  owner: string,
  options: unknown,
  rules: OptionRules,
  { prefix = '', suggestName }: OptionPlace = {},
): void {
  if (!isObject(options)) {
    const kind = options === null ? 'null' : typeof options
    throw new TypeError(`${owner}: the options must be an object, not ${kind}`)
  }
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) {
      const known = Object.keys(rules)
      const hint = suggestName?.(name, known) || `, allowed are ${known.join(', ')}`
      throw new TypeError(`${owner}: unknown option '${prefix}${name}'${hint}`)
    }
    if (value !== undefined && !rule.isValid(value)) {
      throw new TypeError(`${owner}: the option '${prefix}${name}' must be ${rule.expected}`)
    }
  }
}

/** Instances of a class are options too, as long as they are no list. */
export function isOptionsObject(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !Array.isArray(value)
}

/** Returns defaults with what is given in their place; `undefined` switches no default off. */
export function withDefaults<T extends object>(defaults: T, given: Given<T>): T {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(entries) }
}

import { isNonEmptyString, isObject, isStringList } from '../value-kind.ts'

/** What an option may be, in words and as a test. */
export interface OptionRule {
  /** Completes the sentence `The option must be …`. */
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
}

/** Rules by the name of the option; there are no others. */
export type OptionRules = Readonly<Record<string, OptionRule>>

/** Some of the options of a kind; one that is `undefined` is not given. */
export type Given<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

/** The rule of strings, by itself: bundlers keep tables that read another one, used or not. */
export const STRING_OPTION: OptionRule = {
  expected: 'a non-empty string',
  isValid: isNonEmptyString,
}

/** Rules that many options share, of clients as well. */
export const OPTION: Readonly<
  Record<'boolean' | 'string' | 'stringList' | 'count' | 'limit' | 'object', OptionRule>
> = {
  boolean: { expected: 'true or false', isValid: (value) => typeof value === 'boolean' },
  string: STRING_OPTION,
  stringList: { expected: 'a list of non-empty strings', isValid: isStringList },
  /** A whole number from 0 on. */
  count: {
    expected: 'a whole number from 0 on',
    isValid: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  },
  /** `Infinity` stands for no limit. */
  limit: {
    expected: 'a number from 0 on',
    isValid: (value) => typeof value === 'number' && value >= 0,
  },
  object: { expected: 'an object', isValid: isOptionsObject },
}

/** Returns `; did you mean 'name'?` for a mistyped name, or `''`. */
export type NameSuggestion = (mistyped: string, names: Iterable<string>) => string

/** Where options stand, and what is said of unknown ones. */
interface OptionPlace {
  /** Who takes the options, for the error: `rest()`, `params.adapter`. */
  readonly owner: string
  /** The way to options inside of others: `json.`. */
  readonly prefix?: string
  /** Suggests a name. Default: errors of unknown options name those that there are. */
  readonly suggestName?: NameSuggestion
}

/** Checks options by a table, as {@link checkRules} does. */
export type OptionCheck = (owner: string, options: unknown, rules: OptionRules) => void

/**
 * Checks options by a table: a mistyped limit or guard that was ignored would simply be missing. An
 * option that is `undefined` is one that is not given. The value is not repeated in the error,
 * since it may be a secret.
 * @throws {TypeError} no object, an option that is not known, or a value that it can't have
 */
export function checkRules(
  place: string | OptionPlace,
  options: unknown,
  rules: OptionRules,
): void {
  const {
    owner,
    prefix = '',
    suggestName,
  }: OptionPlace = typeof place === 'string' ? { owner: place } : place
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

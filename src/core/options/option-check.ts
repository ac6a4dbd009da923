import { OptionError } from '../errors/setup-errors.ts'
import { isPlainObject } from '../value-kind.ts'
import { suggestName } from './name-suggestion.ts'
import type { OptionRule, OptionRules } from './option-rules.ts'
import {
  BOOLEAN_OPTION,
  COUNT_OPTION,
  checkRules,
  isOptionsObject,
  LIMIT_OPTION,
  OBJECT_OPTION,
  POSITIVE_INTEGER_OPTION,
  STRING_LIST_OPTION,
  STRING_OPTION,
} from './option-rules.ts'

export type { Given, OptionRule, OptionRules } from './option-rules.ts'
export { withDefaults } from './option-rules.ts'

/** Rules shared by many options of servers. */
export const OPTION: Readonly<
  Record<
    | ('boolean' | 'string' | 'stringList' | 'count' | 'limit' | 'object')
    | ('positiveInteger' | 'bodyLimit' | 'function' | 'extensions'),
    OptionRule
  >
> = {
  boolean: BOOLEAN_OPTION,
  string: STRING_OPTION,
  stringList: STRING_LIST_OPTION,
  count: COUNT_OPTION,
  limit: LIMIT_OPTION,
  object: OBJECT_OPTION,
  positiveInteger: POSITIVE_INTEGER_OPTION,
  /** Bytes; 0 would be the default of Fastify. */
  bodyLimit: {
    expected: 'a number of bytes from 1 on',
    isValid: (value) => typeof value === 'number' && value >= 1,
  },
  function: { expected: 'a function', isValid: (value) => typeof value === 'function' },
  /** Options that other packages read. */
  extensions: {
    expected: 'an object of options that other packages read',
    isValid: isPlainObject,
    reserved: [],
  },
}

/**
 * Rejects names that look like Remex's own options: a mistyped or misplaced guard would otherwise not apply.
 */
function checkExtensions(place: string, extensions: object, own: readonly string[]): void {
  for (const name of Object.keys(extensions)) {
    const isOwn = own.includes(name) || name in Object.prototype
    const hint = isOwn ? '' : suggestName(name, own)
    if (!isOwn && hint === '') continue
    throw new OptionError(`${place}${name}' cannot be an option of another package${hint}`)
  }
}

/**
 * Checks options by their rules, and suggests a name for an unknown one.
 * @param owner who takes the options, for the error: `rest()`, `params.adapter`
 * @param prefix the path to nested options: `json.`
 * @throws {TypeError} the options are not an object, or one is unknown or has an invalid value
 */
export function checkOptions(
  owner: string,
  options: unknown,
  rules: OptionRules,
  prefix = '',
): void {
  checkRules(owner, options, rules, { prefix, suggestName })
  for (const [name, value] of Object.entries(options as object)) {
    const { keys, reserved } = rules[name] ?? {}
    if (value === undefined) continue
    if (reserved !== undefined) {
      checkExtensions(`${owner}: '${prefix}${name}.`, value, [...Object.keys(rules), ...reserved])
    }
    for (const part of keys === undefined ? [] : [value].flat()) {
      if (isOptionsObject(part)) checkOptions(owner, part, keys ?? {}, `${prefix}${name}.`)
    }
  }
}

/**
 * Checks only the names of options; another library checks their values.
 * @throws {TypeError} the options are not an object, or one is unknown
 */
export function checkOptionNames(owner: string, options: unknown, known: readonly string[]): void {
  const anything: OptionRule = { expected: '', isValid: () => true }
  checkOptions(owner, options, Object.fromEntries(known.map((name) => [name, anything])))
}

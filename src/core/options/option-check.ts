import { isPlainObject } from '../value-kind.ts'
import { suggestName } from './name-suggestion.ts'
import type { OptionRule as PlainRule } from './option-rules.ts'
import { checkRules, isOptionsObject, OPTION as SHARED } from './option-rules.ts'

export type { Given } from './option-rules.ts'
export { withDefaults } from './option-rules.ts'

/** What an option of servers may be: in words, as a test, and inside of it. */
export interface OptionRule extends PlainRule {
  /**
   * Rules for the keys of an option that is an object or a list of objects; there are no others.
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

/** Rules that many options share: those of clients, and those of servers alone. */
export const OPTION: typeof SHARED &
  Readonly<Record<'bodyLimit' | 'function' | 'extensions', OptionRule>> = {
  ...SHARED,
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

/** A guard that is mistyped or misplaced would be missing, whoever it is given to. */
function checkExtensions(place: string, extensions: object, own: readonly string[]): void {
  for (const name of Object.keys(extensions)) {
    const isOwn = own.includes(name) || name in Object.prototype
    const hint = isOwn ? '' : suggestName(name, own)
    if (!isOwn && hint === '') continue
    throw new TypeError(`${place}${name}' can not be an option of another package${hint}`)
  }
}

/**
 * Checks options by their rules, and suggests a name in place of an unknown one.
 * @param owner who takes the options, for the error: `rest()`, `params.adapter`
 * @param prefix the way to options inside of others: `json.`
 * @throws {TypeError} no object, an option that is not known, or a value that it can't have
 */
export function checkOptions(
  owner: string,
  options: unknown,
  rules: OptionRules,
  prefix = '',
): void {
  checkRules({ owner, prefix, suggestName }, options, rules)
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
 * Checks the names of options whose values another library checks.
 * @throws {TypeError} no object, or an option that is not known
 */
export function checkOptionNames(owner: string, options: unknown, known: readonly string[]): void {
  const anything: OptionRule = { expected: '', isValid: () => true }
  checkOptions(owner, options, Object.fromEntries(known.map((name) => [name, anything])))
}

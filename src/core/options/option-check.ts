import { suggestName } from './name-suggestion.ts'
import type { OptionRule, OptionRules, OptionSupport } from './option-rules.ts'
import { checkRules } from './option-rules.ts'

export type { Given, OptionRule, OptionRules } from './option-rules.ts'
export { OPTION, withDefaults } from './option-rules.ts'

/** A guard that is mistyped or misplaced would be missing, whoever it is given to. */
function checkExtensions(place: string, extensions: object, own: readonly string[]): void {
  for (const name of Object.keys(extensions)) {
    const isOwn = own.includes(name) || name in Object.prototype
    const hint = isOwn ? '' : suggestName(name, own)
    if (!isOwn && hint === '') continue
    throw new TypeError(`${place}${name}' can not be an option of another package${hint}`)
  }
}

/** What checks of options need beside their rules. */
export const OPTION_SUPPORT: OptionSupport = { suggestName, checkExtensions }

/**
 * Checks options by their rules, and suggests a name in place of an unknown one.
 * @param owner who takes the options, for the error: `rest()`, `params.adapter`
 * @throws {TypeError} no object, an option that is not known, or a value that it can't have
 */
export function checkOptions(owner: string, options: unknown, rules: OptionRules): void {
  checkRules(owner, options, rules, OPTION_SUPPORT)
}

/**
 * Checks the names of options whose values another library checks.
 * @throws {TypeError} no object, or an option that is not known
 */
export function checkOptionNames(owner: string, options: unknown, known: readonly string[]): void {
  const anything: OptionRule = { expected: '', isValid: () => true }
  checkOptions(owner, options, Object.fromEntries(known.map((name) => [name, anything])))
}

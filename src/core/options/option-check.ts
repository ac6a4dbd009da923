import { suggestName } from './name-suggestion.ts'
import type { OptionRule, OptionRules } from './option-rules.ts'
import { checkRules } from './option-rules.ts'

export type { Given, OptionRule, OptionRules } from './option-rules.ts'
export { OPTION, withDefaults } from './option-rules.ts'

/**
 * Checks options by their rules, and suggests a name in place of an unknown one.
 * @param owner who takes the options, for the error: `rest()`, `params.adapter`
 * @throws {TypeError} no object, an option that is not known, or a value that it can't have
 */
export function checkOptions(owner: string, options: unknown, rules: OptionRules): void {
  checkRules(owner, options, rules, suggestName)
}

/**
 * Checks the names of options whose values another library checks.
 * @throws {TypeError} no object, or an option that is not known
 */
export function checkOptionNames(owner: string, options: unknown, known: readonly string[]): void {
  const anything: OptionRule = { expected: '', isValid: () => true }
  checkOptions(owner, options, Object.fromEntries(known.map((name) => [name, anything])))
}

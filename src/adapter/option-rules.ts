import { suggestName } from './near-name.ts'
import { isPlainObject } from './plain-object.ts'

/** What an option may be, in words and as a test. */
export interface OptionRule {
  /** `must be …`. */
  readonly expected: string
  readonly isValid: (value: unknown) => boolean
  /** Rules for the keys of an option that is an object. */
  readonly keys?: OptionRules
}

/** Rules by the name of the option; there are no others. */
export type OptionRules = Readonly<Record<string, OptionRule>>

/**
 * Checks options by a table. One that is `undefined` is one that is not given.
 * @param prefix what stands before the names in the text: `params.adapter.`
 * @throws {TypeError} an option is not known, or no value for it; names it
 */
export function checkOptions(options: object, rules: OptionRules, prefix = ''): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (rule === undefined) {
      throw new TypeError(
        `There is no option '${prefix}${name}'${suggestName(name, Object.keys(rules))}`,
      )
    }
    if (value === undefined) continue
    if (!rule.isValid(value)) {
      throw new TypeError(`The option '${prefix}${name}' must be ${rule.expected}`)
    }
    if (rule.keys !== undefined && isPlainObject(value)) {
      checkOptions(value, rule.keys, `${prefix}${name}.`)
    }
  }
}

/** Returns defaults with what is given in their place; `undefined` switches no default off. */
export function withDefaults<T extends object>(defaults: T, given: object): T {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(entries) }
}

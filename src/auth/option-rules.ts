import type { OptionRule } from '../core/options/option-check.ts'
import { isNonEmptyString, isObject, isStringList } from '../core/value-kind.ts'

/** Rules that the options of strategies, tokens, passwords and limits share. */
export const AUTH_OPTION: Readonly<
  Record<
    'stringOrNull' | 'stringOrList' | 'servicePath' | 'positiveInteger' | 'positiveNumber',
    OptionRule
  >
> = {
  stringOrNull: {
    expected: 'a non-empty string or null',
    isValid: (value) => value === null || isNonEmptyString(value),
  },
  stringOrList: {
    expected: 'a non-empty string or a list of them',
    isValid: isStringOrList,
  },
  servicePath: { expected: 'the path of a service', isValid: isNonEmptyString },
  positiveInteger: {
    expected: 'a whole number from 1 on',
    isValid: (value) => Number.isInteger(value) && Number(value) >= 1,
  },
  /** Not `Infinity`: a window that never ends would lock people out for good. */
  positiveNumber: {
    expected: 'a number above zero',
    isValid: (value) => Number.isFinite(value) && Number(value) > 0,
  },
}

/** Whether a value is a non-empty string, or a list of at least one. */
export function isStringOrList(value: unknown): value is string | readonly string[] {
  return isNonEmptyString(value) || (isStringList(value) && value.length > 0)
}

/** Whether a value is an object with all of these methods. */
export function hasMethods(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => typeof value[name] === 'function')
}

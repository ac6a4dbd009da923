import type { OptionRule } from '../../core/options/option-check.ts'
import { OPTION } from '../../core/options/option-check.ts'
import { isNonEmptyString, isObject } from '../../core/value-kind.ts'

const MODES: readonly unknown[] = [
  ...['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'],
]
const LEVELS: readonly unknown[] = ['local', 'majority', 'linearizable', 'available', 'snapshot']

/** Which servers read; with tags, it is a `ReadPreference` of the driver. */
export const READ_PREFERENCE: OptionRule = {
  expected: `one of ${MODES.join(', ')}, or a ReadPreference of the driver`,
  isValid: (value) => MODES.includes(isObject(value) ? value['mode'] : value),
}

/** Which writes a read sees. */
export const READ_CONCERN: OptionRule = {
  expected: `{ level } with one of ${LEVELS.join(', ')}`,
  isValid: (value) => isObject(value) && LEVELS.includes(value['level']),
  keys: { level: { expected: `one of ${LEVELS.join(', ')}`, isValid: isAnything } },
}

/** How many servers have to confirm a write: at least one, or nobody knows what it has returned. */
export const WRITE_CONCERN: OptionRule = {
  expected: '{ w, journal, wtimeoutMS }',
  isValid: isObject,
  keys: {
    w: {
      expected: "a whole number from 1 on, 'majority' or a tag",
      isValid: (value) => isNonEmptyString(value) || (OPTION.count.isValid(value) && value !== 0),
    },
    journal: OPTION.boolean,
    wtimeoutMS: OPTION.count,
  },
}

/** For what has been checked already. */
function isAnything(): boolean {
  return true
}

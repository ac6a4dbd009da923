import { isNullish } from '../../matching/bson-type.ts'
import { CommandError, notSupported } from '../../matching/command-error.ts'
import type { Collation } from '../../matching/compare.ts'
import { SortedList } from '../sorted-list.ts'
import { readFields, refuse } from './read-fields.ts'

const FIELDS = {
  locale: 'string',
  strength: 'number',
  numericOrdering: 'bool',
  ...refuse('caseLevel', 'caseFirst', 'alternate', 'maxVariable', 'normalization', 'backwards'),
  ...refuse('version'),
} as const

/** By strength; Intl has no equivalent of the two highest. */
const SENSITIVITY = [undefined, 'base', 'accent', 'variant', undefined, undefined] as const

/**
 * Returns the collation of a command's `collation` option, `undefined` for binary comparison.
 * @throws {CommandError} the option is not a collation, or one that Intl cannot express
 */
export function createCollation(spec: unknown): Collation | undefined {
  if (isNullish(spec)) return undefined
  const options = readFields('collation', spec, FIELDS)
  const { locale, strength = 3 } = options
  if (locale === undefined)
    throw new CommandError(40414, "BSON field 'collation.locale' is missing")
  if (!Number.isInteger(strength) || strength < 1 || strength > 5) {
    const message = `'${strength}' is not a valid value of the field 'collation.strength'`
    throw new CommandError(2, message)
  }
  if (locale === 'simple') {
    if (Object.keys(options).length === 1) return undefined
    throw new CommandError(2, "The collation 'simple' must not have other fields")
  }
  const sensitivity = SENSITIVITY[strength]
  if (sensitivity === undefined) throw notSupported(`The collation's strength ${strength}`)
  const numeric = options.numericOrdering === true
  const { compare } = createCollator(locale, { sensitivity, numeric })
  const name = `${locale} ${strength} ${numeric}`
  return { name, compare, canonical: createCanonical(compare) }
}

function createCollator(locale: string, options: Intl.CollatorOptions): Intl.Collator {
  const tag = locale.replaceAll('_', '-')
  try {
    // Intl would replace an unknown locale by that of the process.
    if (Intl.Collator.supportedLocalesOf(tag).length > 0 && !tag.includes('-u-')) {
      return new Intl.Collator(tag, options)
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw new CommandError(2, `Field 'locale' is invalid in the collation: '${locale}'`)
}

/** Intl has no sort keys: the first string seen represents all that compare as equal. */
function createCanonical(compare: (a: string, b: string) => number): (value: string) => string {
  const seen = new SortedList(compare, [])
  return (value) => {
    const [same] = seen.run((other) => compare(other, value))
    if (same === undefined) seen.add(value)
    return same ?? value
  }
}

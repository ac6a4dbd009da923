import type { Document } from 'bson'
import { CommandError, notSupported } from '../errors.ts'
import { isNullish } from '../values/bson-type.ts'
import type { Collation } from '../values/compare.ts'
import { readFields } from './read-fields.ts'

const FIELDS = {
  locale: 'string',
  strength: 'number',
  caseLevel: 'bool',
  caseFirst: 'string',
  numericOrdering: 'bool',
  alternate: 'string',
  maxVariable: 'string',
  normalization: 'bool',
  backwards: 'refused',
  version: 'refused',
} as const

/** The values that MongoDB knows: true for those that Intl can express. */
const VALUES: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  strength: { 1: true, 2: true, 3: true, 4: false, 5: false },
  caseFirst: { upper: true, lower: true, off: true },
  alternate: { 'non-ignorable': true, shifted: true },
  maxVariable: { punct: true, space: false },
}

const SENSITIVITY = [undefined, 'base', 'accent', 'variant'] as const

/**
 * Returns the collation of a command's `collation` option, `undefined` for binary comparison.
 * @throws {CommandError} the option is not a collation, or one that Intl cannot express
 */
export function createCollation(spec: unknown): Collation | undefined {
  if (isNullish(spec)) return undefined
  const options = readFields('collation', spec, FIELDS)
  const { locale, strength = 3, caseLevel = false, caseFirst = 'off' } = options
  if (locale === undefined)
    throw new CommandError(40414, "BSON field 'collation.locale' is missing")
  for (const [name, values] of Object.entries(VALUES)) checkValue(name, options, values)
  if (locale === 'simple') {
    if (Object.keys(options).length === 1) return undefined
    throw new CommandError(2, "The collation 'simple' must not have other fields")
  }
  if (caseLevel && strength === 2) throw notSupported('A collation of strength 2 with caseLevel')
  if (caseFirst !== 'off' && strength < 3 && !caseLevel) {
    throw new CommandError(2, "The collation's caseFirst needs caseLevel or a strength above 2")
  }
  const { compare } = createCollator(locale, {
    sensitivity: caseLevel && strength === 1 ? 'case' : (SENSITIVITY[strength] ?? 'variant'),
    numeric: options.numericOrdering === true,
    caseFirst: caseFirst === 'upper' || caseFirst === 'lower' ? caseFirst : 'false',
    ignorePunctuation: options.alternate === 'shifted',
  })
  return { compare, canonical: createCanonical(compare) }
}

function checkValue(
  name: string,
  options: Document,
  values: Readonly<Record<string, boolean>>,
): void {
  const value: unknown = options[name]
  if (value === undefined) return
  const key = String(value)
  if (!Object.hasOwn(values, key)) {
    throw new CommandError(2, `'${key}' is not a valid value of the field 'collation.${name}'`)
  }
  if (values[key] !== true) throw notSupported(`The collation's ${name} ${key}`)
}

function createCollator(locale: string, options: Intl.CollatorOptions): Intl.Collator {
  const tag = locale.replaceAll('_', '-')
  try {
    // Intl would replace a locale that it does not know by the one of the process.
    if (Intl.Collator.supportedLocalesOf(tag).length > 0 && !tag.includes('-u-')) {
      return new Intl.Collator(tag, options)
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw new CommandError(2, `Field 'locale' is invalid in the collation: '${locale}'`)
}

/** Intl has no sort keys: of all strings that are equal, the first one seen stands for them. */
function createCanonical(compare: (a: string, b: string) => number): (value: string) => string {
  const sorted: string[] = []
  return (value) => {
    let low = 0
    let high = sorted.length
    while (low < high) {
      const middle = (low + high) >> 1
      const order = compare(sorted[middle] ?? '', value)
      if (order === 0) return sorted[middle] ?? value
      if (order < 0) low = middle + 1
      else high = middle
    }
    sorted.splice(low, 0, value)
    return value
  }
}

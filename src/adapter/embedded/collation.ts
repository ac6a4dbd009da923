import type { Document } from 'bson'
import { CommandError } from './errors.ts'

/** How strings are compared where a collation is given. */
export interface Collation {
  readonly compare: (a: string, b: string) => number
  /** Returns one and the same string for all strings that are equal under the collation. */
  readonly canonical: (value: string) => string
}

const SENSITIVITY: Readonly<Record<number, 'base' | 'accent' | 'variant'>> = {
  1: 'base',
  2: 'accent',
  3: 'variant',
}

/**
 * Returns the collation of a command's `collation` option, `undefined` for binary comparison.
 * Strengths 4 and 5, `backwards` and `maxVariable` cannot be expressed by Intl and are refused.
 * @throws {CommandError} the option is not a collation, or names a locale that is not known
 */
export function createCollation(spec: unknown): Collation | undefined {
  if (spec === undefined || spec === null) return undefined
  const options = spec as Document
  const locale = options.locale
  if (typeof locale !== 'string') throw new CommandError(2, "The collation needs a string 'locale'")
  if (locale === 'simple') return undefined
  const strength = Number(options.strength ?? 3)
  const sensitivity = SENSITIVITY[strength]
  if (sensitivity === undefined || options.backwards === true) {
    throw new CommandError(
      2,
      'Collation strength 4 and 5 and backwards are not in the embedded server',
    )
  }
  const collator = createCollator(locale, {
    sensitivity: sensitivity === 'base' && options.caseLevel === true ? 'case' : sensitivity,
    numeric: options.numericOrdering === true,
    caseFirst: toCaseFirst(options.caseFirst),
    ignorePunctuation: options.alternate === 'shifted',
  })
  return { compare: collator.compare, canonical: createCanonical(collator.compare) }
}

function toCaseFirst(value: unknown): 'upper' | 'lower' | 'false' {
  return value === 'upper' || value === 'lower' ? value : 'false'
}

function createCollator(locale: string, options: Intl.CollatorOptions): Intl.Collator {
  try {
    return new Intl.Collator(locale.replaceAll('_', '-'), options)
  } catch (error) {
    throw new CommandError(2, `Collation locale '${locale}' is not known`, {}, { cause: error })
  }
}

/** Intl has no sort keys: the first string seen of each class of equals stands for the class. */
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

import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import type { Query } from '../../core/params.ts'

/** The flags that JavaScript and the database read alike. */
const FLAGS = /^[ims]*$/

/**
 * Escapes other than those that both read alike. After `\Q` the database reads brackets literally, so that a
 * group could hide from this check in what looks like a class.
 */
const FOREIGN_ESCAPE = /\\(?:[^\W_dDwWsSbBnrtfv\d])/

/**
 * A part of a pattern: an escape, a class, the start of a group, a quantifier, or one character. Newer
 * databases also read `{,2}` and `{ 1, 2 }` as quantifiers.
 */
const TOKEN =
  /\\.|\[(?:\\.|[^\]\\])*\]?|\((?:\?(?:<?[=!]|<\w+>|[ims-]*:))?|(?:[*+?]|\{[\d, ]*\})\??|./gs
const QUANTIFIER = /^(?:[*+?]|\{.*\})/

/** Matching can take time in the order of n^r, for a text of n characters and r unbounded repetitions. */
const MAX_REPEATS = 3
/** Optional parts and alternatives: each one doubles the time at most. */
const MAX_CHOICES = 8

const FLAGS_FAULT = 'has $options other than i, m and s'

interface PatternRule {
  readonly fault: string
  readonly isBroken: (pattern: string, flags: string, limit: number) => boolean
}

/** In this order: later rules rely on earlier ones. */
const PATTERN_RULES: readonly PatternRule[] = [
  // Not `length > limit`: that is false for a limit of `undefined` or `NaN`.
  { fault: 'is too long', isBroken: (pattern, _flags, limit) => !(pattern.length <= limit) },
  { fault: 'has a zero byte', isBroken: (pattern) => pattern.includes('\0') },
  { fault: FLAGS_FAULT, isBroken: (_, flags) => !FLAGS.test(flags) },
  { fault: 'is not valid', isBroken: (pattern, flags) => !isCompilable(pattern, flags) },
  {
    fault: 'has an escape that is not allowed',
    // `\\Q` is a backslash and a letter.
    isBroken: (pattern) => FOREIGN_ESCAPE.test(pattern.replaceAll('\\\\', '')),
  },
  {
    fault: 'repeats a group that has a quantifier or alternatives in it',
    isBroken: hasNestedRepeat,
  },
  {
    fault: `has more than ${MAX_REPEATS} repetitions or ${MAX_CHOICES} choices`,
    isBroken: hasManyChoices,
  },
]

/**
 * Checks the pattern, if any, in an object of a sanitized external query.
 * @param field the field of the conditions
 * @param limit the option `limits.patternLength`
 * @throws {BadRequest} a `$regex` is not a string, is longer than the limit, does not compile, or may take
 *   exponential time; or `$options` has no `$regex`. Names the field and the rule
 */
export function checkPattern(conditions: Query, field: string, limit: number): void {
  const hasOptions = Object.hasOwn(conditions, '$options')
  if (!Object.hasOwn(conditions, '$regex')) {
    if (hasOptions) throw new InvalidQuery(`$options needs a $regex for ${field}`)
    return
  }
  const { $regex: pattern, $options: flags } = conditions
  const isMade = pattern instanceof RegExp
  if (typeof pattern !== 'string' && !isMade) {
    throw new InvalidQuery(`$regex must be a string for ${field}`)
  }
  if (hasOptions && typeof flags !== 'string') {
    throw new InvalidQuery(`$options must be a string for ${field}`)
  }
  const given = hasOptions ? String(flags) : ''
  // A RegExp comes from code; the flags next to it may still come from the caller.
  if (isMade) {
    if (!FLAGS.test(given)) throw new InvalidQuery(`The $regex for ${field} ${FLAGS_FAULT}`)
    return
  }
  const broken = PATTERN_RULES.find(({ isBroken }) => isBroken(pattern, given, limit))
  if (broken !== undefined) throw new InvalidQuery(`The $regex for ${field} ${broken.fault}`)
}

function isCompilable(pattern: string, flags: string): boolean {
  try {
    new RegExp(pattern, flags)
    return true
  } catch {
    return false
  }
}

/**
 * Whether a repeated group can vary in length or has alternatives: `(a+)+`, `(a|a)*`, `(a?){9}`. The number
 * of ways to match a text is exponential.
 */
function hasNestedRepeat(pattern: string): boolean {
  /** Whether the text of each open group varies so far; the first is the whole pattern. */
  const groups = [{ varies: false }]
  let last = { varies: false }
  for (const [token] of pattern.matchAll(TOKEN)) {
    const group = groups.at(-1) ?? last
    const quantifier = QUANTIFIER.exec(token)?.[0]
    if (quantifier !== undefined) {
      if (last.varies && getMostRepeats(quantifier) > 1) return true
      group.varies ||= !/^\{ *\d+ *\}$/.test(quantifier)
    } else if (token === '|') group.varies = true
    else if (token.startsWith('(')) groups.push({ varies: false })
    last = (token === ')' && groups.pop()) || { varies: false }
    if (last.varies) (groups.at(-1) ?? last).varies = true
  }
  return false
}

/** Whether neighbours multiply: `a*a*a*a*` and `a?a?a?…` take as long as a repeated group. */
function hasManyChoices(pattern: string): boolean {
  const tokens = [...pattern.matchAll(TOKEN)].map(([token]) => token)
  const most = tokens
    .flatMap((token) => QUANTIFIER.exec(token)?.[0] ?? [])
    .filter((quantifier) => !/^\{ *\d+ *\}$/.test(quantifier))
    .map(getMostRepeats)
  const repeats = most.filter((count) => count > 1).length
  const choices = most.length - repeats + tokens.filter((token) => token === '|').length
  return repeats > MAX_REPEATS || choices > MAX_CHOICES
}

/** Returns the maximum number of repetitions of a quantifier. */
function getMostRepeats(quantifier: string): number {
  if (!quantifier.startsWith('{')) return quantifier === '?' ? 1 : Number.POSITIVE_INFINITY
  const [least, most = least] = quantifier.slice(1, -1).split(',')
  return most?.trim() ? Number(most) : Number.POSITIVE_INFINITY
}

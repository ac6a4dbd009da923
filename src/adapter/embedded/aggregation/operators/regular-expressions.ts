import { BSONRegExp } from 'bson'
import { CommandError } from '../../errors/command-error.ts'
import { spendItems } from '../../limits/work-limits.ts'
import { isNullish } from '../../values/bson-type.ts'
import { isRegex, toRegExp } from '../../values/regular-expression.ts'
import { checkString } from './argument-checks.ts'
import type { Operator, Operators } from './operator.ts'
import { named } from './operator.ts'

/** Operators that search strings by regular expressions. */
export const PATTERNS: Operators = {
  $regexMatch: search('$regexMatch', (matches) => matches.length > 0, 1),
  $regexFind: search('$regexFind', (matches) => matches[0] ?? null, 1),
  $regexFindAll: search('$regexFindAll', (matches) => matches, Number.POSITIVE_INFINITY),
}

interface Match {
  readonly match: string
  /** Where it begins, in code points. */
  readonly idx: number
  readonly captures: readonly (string | null)[]
}

function search(
  name: string,
  toResult: (matches: readonly Match[]) => unknown,
  most: number,
): Operator {
  return named(['input', 'regex', 'options?'], ([input, regex, options]) => {
    if (isNullish(input) || isNullish(regex)) return toResult([])
    const text = checkString(`${name}'s input`, input, 51104)
    return toResult(findAll(text, readPattern(name, regex, options), most))
  })
}

function readPattern(name: string, regex: unknown, options: unknown): RegExp {
  if (typeof regex !== 'string' && !isRegex(regex)) {
    throw new CommandError(51105, `${name} needs 'regex' to be a string or a regex`)
  }
  if (isNullish(options)) return toRegExp(regex)
  const flags = checkString(`${name}'s options`, options, 51106)
  if (regex instanceof BSONRegExp && regex.options !== '') {
    throw new CommandError(51107, `${name} found options in both 'regex' and 'options'`)
  }
  return toRegExp(regex, flags)
}

function findAll(text: string, pattern: RegExp, most: number): Match[] {
  const found: Match[] = []
  for (const match of text.matchAll(new RegExp(pattern, `${pattern.flags}g`))) {
    spendItems(1)
    found.push({
      match: match[0],
      idx: [...text.slice(0, match.index)].length,
      captures: match.slice(1).map((capture) => capture ?? null),
    })
    if (found.length >= most) break
  }
  return found
}

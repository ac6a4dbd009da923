/** What an expression for origins lacks to allow only those that are meant. */
export interface OriginFault {
  readonly pattern: RegExp
  /** Each of them a part of a sentence. */
  readonly faults: readonly string[]
}

/**
 * Returns the regular expressions of the option `origin` that match more origins than they seem to:
 * `/example\.com/` is found in `https://example.com.evil.net`, and `.` is any character. Strings
 * match as a whole; functions can't be judged.
 */
export function findOriginFaults(origin: unknown): readonly OriginFault[] {
  return toList(origin).flatMap((pattern) => {
    if (!(pattern instanceof RegExp)) return []
    const faults = findFaults(pattern.source)
    return faults.length === 0 ? [] : [{ pattern, faults }]
  })
}

/**
 * Origins of sites that have nothing in common: an expression that matches all of them
 * matches anything.
 */
const STRANGERS = ['https://a.invalid', 'http://b.test:8080']

/**
 * Whether the option `origin` allows every site: by `'*'`, by an expression that matches anything,
 * or by a value like `true`. Functions can't be judged.
 */
export function allowsEveryOrigin(origin: unknown): boolean {
  return toList(origin).some((one) => {
    if (typeof one === 'string') return one === '*'
    if (one instanceof RegExp) return STRANGERS.every((stranger) => stranger.search(one) !== -1)
    return typeof one !== 'function' && Boolean(one)
  })
}

/** Returns the values of a list, nested ones included. */
function toList(origin: unknown): readonly unknown[] {
  return [origin].flat(Number.POSITIVE_INFINITY)
}

function findFaults(source: string): string[] {
  const branches = splitBranches(toTokens(source))
  const faults: string[] = []
  if (branches.some((branch) => branch[0] !== '^')) faults.push('it does not begin with ^')
  if (branches.some((branch) => branch.at(-1) !== '$')) faults.push('it does not end with $')
  if (branches.some(hasPlainDot)) faults.push('it has a dot that is not escaped')
  return faults
}

/** Characters, escaped ones with their backslash, and each class like `[a-z.]` as `[]`. */
function toTokens(source: string): readonly string[] {
  const tokens: string[] = []
  let isClass = false
  for (const token of source.match(/\\?[\s\S]/g) ?? []) {
    if (token === '[' && !isClass) tokens.push('[]')
    else if (!isClass) tokens.push(token)
    isClass = token === '[' || (isClass && token !== ']')
  }
  return tokens
}

/** What stands between the bars outside of all groups: each of them matches for itself. */
function splitBranches(tokens: readonly string[]): readonly string[][] {
  const branches: string[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    if (token === '(') depth += 1
    if (token === ')') depth -= 1
    if (token === '|' && depth === 0) branches.push([])
    else branches.at(-1)?.push(token)
  }
  return branches
}

/** Whether a dot stands for one character, as one that was meant to be a dot does. */
function hasPlainDot(tokens: readonly string[]): boolean {
  return tokens.some((token, index) => token === '.' && !/^[*+{]$/.test(tokens[index + 1] ?? ''))
}

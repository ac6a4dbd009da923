/**
 * A provider that is down, slow or lying. The message is a line for the log. It has no header, body,
 * path or query, where codes, tokens and secrets travel, and there is no cause: errors of Node carry
 * received bytes and certificates.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'

  /** @param problem completes the sentence `The provider at https://accounts.example …` */
  constructor(url: URL, problem: string) {
    super(`The provider at ${getSafeOrigin(url)} ${problem}`)
  }
}

/** Returns a URL without what may be secret in it; schemes without an origin stand for themselves. */
export function getSafeOrigin(url: URL): string {
  return url.origin === 'null' ? url.protocol : url.origin
}

/**
 * Returns the `ProviderError` that an error is or comes from: libraries that are given the fetch
 * wrap what it throws.
 */
export function findProviderError(error: unknown): ProviderError | undefined {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof ProviderError) return one
    seen.add(one)
  }
  return undefined
}

/**
 * What is wrong, by the error of Node: `CODE message`. The first that matches; a code of Node that is not here is a
 * failure to reach the provider.
 */
const TECHNICAL_PROBLEMS: readonly (readonly [error: RegExp, problem: string])[] = [
  [/^(?:\w*CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/, 'has a certificate that is not trusted'],
  [/^HPE_/, 'sent an answer that is not valid HTTP'],
  [/^\w+ /, 'can not be reached'],
]

/** Returns the error of a request that has failed; one that tells of a fault of ours as it is. */
export function createProviderError(url: URL, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProviderError) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const text = `${code} ${error.message}`
  const [, problem] = TECHNICAL_PROBLEMS.find(([pattern]) => pattern.test(text)) ?? []
  if (problem === undefined) return error
  return new ProviderError(url, code === '' ? problem : `${problem} (${code})`)
}

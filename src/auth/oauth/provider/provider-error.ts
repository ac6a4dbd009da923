/**
 * A provider is down, slow, or sends something invalid. The message is meant for the log. It contains no header, body,
 * path or query, since those carry codes, tokens and secrets. There is no `cause`: errors of Node carry received bytes
 * and certificates.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'

  /** @param problem completes the sentence `The provider at https://accounts.example …` */
  constructor(url: URL, problem: string) {
    super(`The provider at ${getSafeOrigin(url)} ${problem}`)
  }
}

/** Returns the origin of a URL, without the parts that may be secret; the scheme if it has no origin. */
export function getSafeOrigin(url: URL): string {
  return url.origin === 'null' ? url.protocol : url.origin
}

/** Returns the `ProviderError` that an error is or was caused by: libraries wrap the errors of the fetch they use. */
export function findProviderError(error: unknown): ProviderError | undefined {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof ProviderError) return one
    seen.add(one)
  }
  return undefined
}

/**
 * The problem for an error of Node, matched against `CODE message`. The first match counts; any other code means that
 * the provider is unreachable.
 */
const TECHNICAL_PROBLEMS: readonly (readonly [error: RegExp, problem: string])[] = [
  [/^(?:\w*CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/, 'has a certificate that is not trusted'],
  [/^HPE_/, 'sent a response that is not valid HTTP'],
  [/^\w+ /, 'cannot be reached'],
]

/** Returns the error of a failed request. Errors of our own code are returned unchanged. */
export function createProviderError(url: URL, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProviderError) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const text = `${code} ${error.message}`
  const [, problem] = TECHNICAL_PROBLEMS.find(([pattern]) => pattern.test(text)) ?? []
  if (problem === undefined) return error
  return new ProviderError(url, code === '' ? problem : `${problem} (${code})`)
}

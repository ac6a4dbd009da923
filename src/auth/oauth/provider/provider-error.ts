/** Why a provider could not be asked, or its answer not be taken. */
export type ProviderFailure =
  | 'request'
  | 'address'
  | 'unreachable'
  | 'certificate'
  | 'timeout'
  | 'redirect'
  | 'encoding'
  | 'size'
  | 'status'
  | 'answer'

/**
 * A provider that is down, slow or lying. The message is a line for the log. It has no header, body,
 * path or query, where codes, tokens and secrets travel, and there is no cause: errors of Node carry
 * received bytes and certificates.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  /** Scheme, host and port of the provider: `https://accounts.example`. */
  readonly origin: string
  /** What went wrong, for programs; the message says it for people. */
  readonly failure: ProviderFailure

  /** @param problem completes the sentence `The provider at https://accounts.example …` */
  constructor(url: URL, failure: ProviderFailure, problem: string) {
    const origin = getSafeOrigin(url)
    super(`The provider at ${origin} ${problem}`)
    this.origin = origin
    this.failure = failure
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

interface TechnicalFailure {
  /** The error of Node: `CODE message`. */
  readonly pattern: RegExp
  readonly failure: ProviderFailure
  readonly problem: string
}

/** The first that matches; a code of Node that is not here is a failure to reach the provider. */
const TECHNICAL_FAILURES: readonly TechnicalFailure[] = [
  {
    pattern: /^(?:\w*CERT|UNABLE_TO_|HOSTNAME_MISMATCH)/,
    failure: 'certificate',
    problem: 'has a certificate that is not trusted',
  },
  { pattern: /^HPE_/, failure: 'answer', problem: 'sent an answer that is not valid HTTP' },
  { pattern: /^\w+ /, failure: 'unreachable', problem: 'can not be reached' },
]

/** Returns the error of a request that has failed; one that tells of a fault of ours as it is. */
export function createProviderError(url: URL, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ProviderError) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const text = `${code} ${error.message}`
  const found = TECHNICAL_FAILURES.find(({ pattern }) => pattern.test(text))
  if (found === undefined) return error
  const problem = code === '' ? found.problem : `${found.problem} (${code})`
  return new ProviderError(url, found.failure, problem)
}

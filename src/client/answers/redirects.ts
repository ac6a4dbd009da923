import type { ServiceError } from '../../core/errors/index.ts'
import type { Answer, PreparedRequest } from '../connection.ts'
import { createResponseError } from './response-error.ts'

/** What a request does where the server redirects, as its library and its caller are told. */
export interface RedirectRule {
  /** What the library is asked for, unless its own options say otherwise. */
  readonly redirect: PreparedRequest['redirect']
  /** Whether no option may say otherwise. */
  readonly isBound: boolean
  /** Why a redirect is not followed, for the error. */
  readonly reason: string
}

/** The one header with a token that libraries leave out on the way to another origin. */
const LEFT_OUT = 'authorization'

const RULES = {
  read: { redirect: 'follow', isBound: false, reason: 'the HTTP library does not follow' },
  write: {
    ...{ redirect: 'manual', isBound: false },
    reason: 'only calls that read follow: see `redirect` of fetch, and its like of other libraries',
  },
  bound: {
    ...{ redirect: 'manual', isBound: true },
    reason: 'the header with the token would be sent along, to any origin',
  },
} as const satisfies Record<string, RedirectRule>

/** The options by which libraries are told to follow. */
const OPTION_NAMES: ReadonlySet<string> = new Set([
  ...['redirect', 'maxRedirects', 'redirects', 'maxRedirections', 'fetchOptions'],
])

/**
 * Returns the rule for a request.
 * @param verb its HTTP method
 * @param added the headers that prove who calls
 */
export function toRedirectRule(verb: string, added: object = {}): RedirectRule {
  if (Object.keys(added).some((name) => name !== LEFT_OUT)) return RULES.bound
  return verb === 'GET' ? RULES.read : RULES.write
}

/** Returns the options of a library without those that would have it follow. */
export function omitRedirectOptions(
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !OPTION_NAMES.has(name)))
}

/**
 * Returns an answer that is no redirect.
 * @throws {GeneralError} a redirect that was not followed
 */
export function refuseRedirect(answer: Answer, { reason }: RedirectRule): Answer {
  if (!isRedirect(answer)) return answer
  const error: ServiceError = createResponseError(answer)
  error.message = `The server redirects this call, and ${reason}`
  throw error
}

/** Status 0 is a redirect that a browser does not show. */
function isRedirect(answer: Answer): boolean {
  const { status } = answer
  if (status === 0) return true
  return status >= 300 && status <= 399 && answer.readHeaders()['location'] !== undefined
}

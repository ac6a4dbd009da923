import type { RequestLabel } from './answers/network-error.ts'
import { toNetworkError } from './answers/network-error.ts'
import {
  checkType,
  createResponseError,
  isSuccess,
  readErrorBody,
  readResult,
} from './answers/response-error.ts'
import { sendWithRetries } from './answers/retries.ts'
import { limitCall } from './answers/time-limit.ts'
import type { Answer, PreparedRequest } from './connection.ts'

export type SentHeaders = Readonly<Record<string, string>>

/** A call of a remote service that is about to be sent. */
export interface UnsentCall {
  /** The called service: its path on the server, and its base URL. */
  readonly service: { readonly name: string; readonly base: string }
  /** The name of the method. */
  readonly method: string
  /** The headers of the caller, with lower-case names. */
  readonly headers: SentHeaders
  /** Aborts when the caller aborts or the time limit passes. */
  readonly signal: AbortSignal | undefined
  /** Sends the request with additional headers. Resolves to the response, whatever its status. */
  send(headers: SentHeaders): Promise<Answer>
}

/** Sends a call with the credentials of the caller. */
export type Authorizer = (call: UnsentCall) => Promise<Answer>

/**
 * The key of a service's authorizer. It is not in the params of calls, where hooks would see the tokens and log them.
 */
const AUTHORIZER: unique symbol = Symbol('remex.authorizer')

/** Sets the authorizer that sends the calls of a service from now on, `undefined` for none. */
export function setAuthorizer(service: object, value: Authorizer | undefined): void {
  Object.defineProperty(service, AUTHORIZER, { value, configurable: true })
}

/** A service that sends a call. */
interface Sender {
  readonly [AUTHORIZER]?: Authorizer | undefined
  readonly name: string
  readonly base: string
  sendRequest(request: PreparedRequest): Promise<Answer>
}

/** A call whose request is complete, except for what differs on each send. */
interface PreparedCall extends Pick<UnsentCall, 'method' | 'headers' | 'signal'> {
  readonly request: Omit<PreparedRequest, 'signal' | 'redirect' | 'isBound'>
  /** The request, for errors. */
  readonly label: RequestLabel
  /** The maximum number of repeats. */
  readonly retries: number
  /** The media type of a stream; another type throws `NotAcceptable`. */
  readonly accept: string | undefined
  /** Whether the server breaks the response off on an error. */
  readonly isExport: boolean
}

/** Resolves to the result of a call. Its authorizer sends it, if there is one, and repeats it if allowed. */
export function sendCall(service: Sender, call: PreparedCall): Promise<unknown> {
  const { method, headers, request } = call
  const { timeoutMs, responseType } = request
  const limits = { ...call, timeoutMs, isStream: responseType === 'stream' }
  return limitCall(limits, async (signal) => {
    const send = (more?: SentHeaders): Promise<Answer> => sendOnce(service, call, signal, more)
    const authorize = (): Promise<Answer> =>
      service[AUTHORIZER]?.({ service, method, headers, signal, send }) ?? send()
    return readResult(await sendWithRetries(authorize, { ...call, signal }), responseType)
  })
}

/** @param more the credentials for this time: an authorizer may repeat a call with other headers */
async function sendOnce(
  service: Sender,
  { request, label, accept }: PreparedCall,
  signal: AbortSignal | undefined,
  more: SentHeaders = {},
): Promise<Answer> {
  const { method, url, libraryOptions } = request
  // Libraries remove the header `Authorization` on a redirect to another origin, but no other header with a token.
  const isBound = Object.keys(more).some((name) => name !== 'authorization')
  const redirect = method === 'GET' && !isBound ? 'follow' : 'manual'
  const options = Object.entries(libraryOptions)
  const kept = isBound ? options.filter(([name]) => !REDIRECT_OPTIONS.includes(name)) : options
  try {
    const answer = await service.sendRequest({
      ...request,
      signal,
      redirect,
      isBound,
      headers: { ...request.headers, ...more },
      libraryOptions: Object.fromEntries(kept),
    })
    if (isSuccess(answer.status)) return accept ? checkType(answer, accept) : answer
    return refuseRedirect(await readErrorBody(answer), { redirect, isBound })
  } catch (error) {
    throw toNetworkError(error, label, url)
  }
}

/** The options that make libraries follow redirects. */
const REDIRECT_OPTIONS: readonly string[] = [
  ...['redirect', 'maxRedirects', 'redirects', 'maxRedirections', 'fetchOptions'],
]

/**
 * Returns a response that is not a redirect. Status 0 is a redirect that a browser hides.
 * @throws {GeneralError} the response is a redirect, which was not followed
 */
function refuseRedirect(
  answer: Answer,
  { redirect, isBound }: Pick<PreparedRequest, 'redirect' | 'isBound'>,
): Answer {
  const { status } = answer
  const isLocated = status >= 300 && status <= 399 && 'location' in answer.readHeaders()
  if (status !== 0 && !isLocated) return answer
  const error = createResponseError(answer)
  const reason = isBound
    ? 'the token would be sent to any origin'
    : redirect === 'follow'
      ? 'the HTTP library does not follow'
      : 'only reads follow'
  error.message = `The server redirects this call, and ${reason}`
  throw error
}

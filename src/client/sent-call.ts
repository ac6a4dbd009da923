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
  /** The service that is called: its path on the server, and the URL of that. */
  readonly service: { readonly name: string; readonly base: string }
  /** The name of the method. */
  readonly method: string
  /** The headers that the caller has given, with lower-case names. */
  readonly headers: SentHeaders
  /** Aborts when the caller gives up, or the time is up. */
  readonly signal: AbortSignal | undefined
  /** Sends the request with additional headers. Resolves to the answer, whatever its status is. */
  send(headers: SentHeaders): Promise<Answer>
}

/** Sends a call with what proves who calls. */
export type Authorizer = (call: UnsentCall) => Promise<Answer>

/**
 * Where a service keeps its authorizer. In the params of calls hooks would see the tokens, and log
 * them.
 */
const AUTHORIZER: unique symbol = Symbol('remex.authorizer')

interface Authorized {
  readonly [AUTHORIZER]?: Authorizer | undefined
}

/** Has an authorizer send the calls of a service from now on, `undefined` for none. */
export function setAuthorizer(service: object, value: Authorizer | undefined): void {
  Object.defineProperty(service, AUTHORIZER, { value, configurable: true })
}

/** A service that a call is sent by. */
interface Sender {
  readonly name: string
  readonly base: string
  sendRequest(request: PreparedRequest): Promise<Answer>
}

/** A call whose request is complete but for what differs each time that it is sent. */
interface PreparedCall extends Pick<UnsentCall, 'method' | 'headers' | 'signal'> {
  readonly request: Omit<PreparedRequest, 'signal' | 'redirect' | 'isBound'>
  /** The request, for errors. */
  readonly label: RequestLabel
  /** How many times it is sent again at most. */
  readonly retries: number
  /** The media type of a stream: an answer of another type throws `NotAcceptable`. */
  readonly accept: string | undefined
  /** Whether the server breaks the answer off where it fails. */
  readonly isExport: boolean
}

/** Resolves to the result of a call: its authorizer sends it, if there is one, again where it may be. */
export function sendCall(service: Sender, call: PreparedCall): Promise<unknown> {
  const { method, headers, request } = call
  const { timeoutMs, responseType } = request
  const limits = { ...call, timeoutMs, isStream: responseType === 'stream' }
  return limitCall(limits, async (signal) => {
    const send = (more?: SentHeaders): Promise<Answer> => sendOnce(service, call, signal, more)
    const authorize = (): Promise<Answer> =>
      (service as Authorized)[AUTHORIZER]?.({ service, method, headers, signal, send }) ?? send()
    return readResult(await sendWithRetries(authorize, { ...call, signal }), responseType)
  })
}

/** @param more what proves who calls, this time: an authorizer may send a call again with other headers */
async function sendOnce(
  service: Sender,
  { request, label, accept }: PreparedCall,
  signal: AbortSignal | undefined,
  more: SentHeaders = {},
): Promise<Answer> {
  const { method, url, libraryOptions } = request
  // Libraries leave the header `Authorization` out on the way to another origin, and no other
  // header with a token.
  const isBound = Object.keys(more).some((name) => name !== 'authorization')
  const redirect = method === 'GET' && !isBound ? 'follow' : 'manual'
  try {
    const answer = await service.sendRequest({
      ...request,
      signal,
      redirect,
      isBound,
      headers: { ...request.headers, ...more },
      libraryOptions: isBound ? omitRedirectOptions(libraryOptions) : libraryOptions,
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

/** Returns the options of a library without those that would have it follow. */
function omitRedirectOptions(
  options: PreparedRequest['libraryOptions'],
): PreparedRequest['libraryOptions'] {
  const kept = Object.entries(options).filter(([name]) => !REDIRECT_OPTIONS.includes(name))
  return Object.fromEntries(kept)
}

/**
 * Returns an answer that is no redirect. Status 0 is one that a browser does not show.
 * @throws {GeneralError} a redirect that was not followed
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

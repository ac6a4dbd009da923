import { InvalidResponse, UnexpectedType } from '../../core/errors/coded-errors.ts'
import type { ServiceError } from '../../core/errors/index.ts'
import { errorFromJSON } from '../../core/errors/index.ts'
import { isErrorStatus } from '../../core/errors/service-error.ts'
import type { Answer, ResponseType } from '../connection.ts'

/** The part of a response that its error keeps, as `error.response`. */
export interface ErrorResponse {
  /** The HTTP status. */
  readonly status: number
  /** Headers with lower-case names: `retry-after`, for example. */
  readonly headers: Readonly<Record<string, string>>
}

/** Longer bodies are not service errors, and would stay in memory as long as the error. */
const MAX_ERROR_BYTES = 1_000_000

/** Returns whether a status means success. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/**
 * Returns the result of a call: `null` for a response without a body, whatever its status.
 * @throws the error that the response contains
 * @throws {GeneralError} a successful response whose body is not complete JSON
 */
export function readResult(answer: Answer, responseType: ResponseType): unknown {
  const { status, body } = answer
  if (!isSuccess(status)) throw createResponseError(answer)
  if (status === 204 || status === 205) return null
  if (responseType !== 'json') return body
  if (body === '') return null
  try {
    return JSON.parse(String(body))
  } catch (cause) {
    const message = `The server answered ${status} with a body that is not JSON`
    throw new InvalidResponse(message, undefined, { cause })
  }
}

/** Names of errors that mean that the caller aborted, or set a time limit that has passed. */
const CALLER_NAMES: readonly unknown[] = ['AbortError', 'TimeoutError']

/** Keys of error bodies whose strings describe the problem. @see RFC 9457 §3.1 */
const MESSAGE_KEYS = ['message', 'detail', 'title', 'error'] as const

/**
 * Returns the error of a response whose body is a string: of the class that the body names, otherwise of the class for
 * its status. `error.response` has status and headers.
 */
export function createResponseError(answer: Answer): ServiceError {
  const { status } = answer
  const response: ErrorResponse = { status, headers: answer.readHeaders() }
  const { code, name, ...others } = parseErrorBody(String(answer.body))
  const key = MESSAGE_KEYS.find((one) => typeof others[one] === 'string')
  // Otherwise the response comes from a proxy, or a web server with pages.
  const type = response.headers['content-type']?.split(';')[0]
  const error = errorFromJSON({
    ...others,
    // Other servers put their own codes there: then the status of the response is used.
    code: isErrorStatus(code) ? code : status,
    ...(!CALLER_NAMES.includes(name) && { name }),
    message: key ? others[key] : `The server answered ${status}${type ? ` with ${type}` : ''}`,
    errorCode: response.headers['error-code'],
  })
  // `response` is not enumerable: it is not part of what the server said about the error.
  return Object.defineProperty(error, 'response', { value: response })
}

/**
 * Returns a successful response if it has the wanted media type.
 * @param wanted what it should be, for the error
 * @throws {NotAcceptable} it has another type
 */
export function checkType(answer: Answer, mediaType: string, wanted: string = mediaType): Answer {
  const { 'content-type': type = 'no content' } = answer.readHeaders()
  if (type.toLowerCase().startsWith(mediaType)) return answer
  throw new UnexpectedType(
    `The server answered ${answer.status} with ${type} and not with ${wanted}`,
  )
}

/** Returns the body of an error, `{}` for anything else, such as the page of a proxy or a truncated body. */
function parseErrorBody(text: string): Record<string, unknown> {
  try {
    return text.length <= MAX_ERROR_BYTES && text.startsWith('{') ? JSON.parse(text) : {}
  } catch {
    return {}
  }
}

/**
 * Resolves to a response whose body is a string if it is not successful: `''` for a body that is too long. Successful
 * responses are returned unchanged.
 */
export async function readErrorBody(answer: Answer): Promise<Answer> {
  const { status, body } = answer
  if (isSuccess(status) || typeof body === 'string') return answer
  return { status, readHeaders: () => answer.readHeaders(), body: await readText(body) }
}

/**
 * Resolves to the text of a body: a stream of the platform or of Node, or bytes, if the library was asked for bytes.
 */
async function readText(body: unknown): Promise<string> {
  const reader = new Response(body as ReadableStream<Uint8Array>).body?.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.length
    if (length > MAX_ERROR_BYTES) {
      // Closes the connection.
      await reader.cancel()
      return ''
    }
    text += decoder.decode(value, { stream: true })
  }
  return text + decoder.decode()
}

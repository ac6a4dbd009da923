import type { ServiceError } from '../../core/errors/index.ts'
import { errorFromJSON, GeneralError, NotAcceptable } from '../../core/errors/index.ts'
import { isErrorStatus } from '../../core/errors/service-error.ts'
import type { Answer, ResponseType } from '../connection.ts'

/** What an error of the server keeps of its answer, as `error.response`. */
export interface ErrorResponse {
  /** The HTTP status. */
  readonly status: number
  /** Headers with lower-case names: `retry-after`, for example. */
  readonly headers: Readonly<Record<string, string>>
}

/** Longer bodies are no errors of services, and would be kept as long as the error is. */
const MAX_ERROR_BYTES = 1_000_000

/** Whether a status stands for a result. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/**
 * Returns what a call resolves to: `null` for a response without a body, whatever its status.
 * @throws the error that the response stands for
 * @throws {GeneralError} a success whose body is not the JSON that was asked for, or a part of it
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
    throw new GeneralError(message, undefined, { cause })
  }
}

/** Names by which callers tell that they gave up, or that a time limit of theirs was up. */
const CALLER_NAMES: readonly unknown[] = ['AbortError', 'TimeoutError']

/** Keys of error bodies whose strings say what is wrong. @see RFC 9457 §3.1 */
const MESSAGE_KEYS = ['message', 'detail', 'title', 'error'] as const

/**
 * Returns the error that an answer stands for, whose body is a string: of the class that the body
 * names, else of the one for its status. `error.response` has status and headers.
 */
export function createResponseError(answer: Answer): ServiceError {
  const { status } = answer
  const response: ErrorResponse = { status, headers: answer.readHeaders() }
  const { code, name, ...others } = parseErrorBody(String(answer.body))
  const key = MESSAGE_KEYS.find((one) => typeof others[one] === 'string')
  // The answer of a proxy, or of a web server with pages.
  const type = response.headers['content-type']?.split(';')[0]
  const error = errorFromJSON({
    ...others,
    // Other servers have codes of their own there: the status of the answer is the one.
    code: isErrorStatus(code) ? code : status,
    ...(!CALLER_NAMES.includes(name) && { name }),
    message: key ? others[key] : `The server answered ${status}${type ? ` with ${type}` : ''}`,
  })
  // `response` is not enumerable: it is no part of what the server said about the error.
  return Object.defineProperty(error, 'response', { value: response })
}

/**
 * Returns an answer that went well and has the wanted media type.
 * @param wanted what it should be, for the error
 * @throws {NotAcceptable} it has another one
 */
export function checkType(answer: Answer, mediaType: string, wanted: string = mediaType): Answer {
  const { 'content-type': type = 'no content' } = answer.readHeaders()
  if (type.toLowerCase().startsWith(mediaType)) return answer
  throw new NotAcceptable(
    `The server answered ${answer.status} with ${type} and not with ${wanted}`,
  )
}

/** Returns the body of an error, `{}` for anything else: the page of a proxy, or a part of a body. */
function parseErrorBody(text: string): Record<string, unknown> {
  try {
    return text.length <= MAX_ERROR_BYTES && text.startsWith('{') ? JSON.parse(text) : {}
  } catch {
    return {}
  }
}

/**
 * Resolves to an answer whose body is a string where it is no success: `''` for a body that is too
 * long. Successes stay as they are.
 */
export async function readErrorBody(answer: Answer): Promise<Answer> {
  const { status, body } = answer
  if (isSuccess(status) || typeof body === 'string') return answer
  return { status, readHeaders: () => answer.readHeaders(), body: await readText(body) }
}

/**
 * Resolves to the text of a body: a stream of the platform or of Node, or bytes, of a library that was
 * asked for these.
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

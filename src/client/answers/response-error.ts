import type { ServiceError } from '../../core/errors/index.ts'
import { errorFromJSON } from '../../core/errors/index.ts'
import { isErrorStatus } from '../../core/errors/service-error.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import type { Answer } from '../connection.ts'
import { MAX_ERROR_BYTES } from './error-body.ts'

/** What an error of the server keeps of its answer, as `error.response`. */
export interface ErrorResponse {
  /** The HTTP status. */
  readonly status: number
  /** Headers with lower-case names: `retry-after`, for example. */
  readonly headers: Readonly<Record<string, string>>
}

/** Names by which callers tell that they gave up, or that a time limit of theirs was up. */
const CALLER_NAMES: ReadonlySet<unknown> = new Set(['AbortError', 'TimeoutError'])

/**
 * Returns the error that an answer stands for, whose body is a string: of the class that the body
 * names, else of the one for its status. `error.response` has status and headers.
 */
export function createResponseError(answer: Answer): ServiceError {
  const { status, body } = answer
  const response: ErrorResponse = { status, headers: answer.readHeaders() }
  const json = toErrorBody(String(body)) ?? {}
  const message = findMessage(json) ?? describe(response)
  const error = errorFromJSON({ code: status, ...json, message })
  // `response` is not enumerable: it is no part of what the server said about the error.
  return Object.defineProperty(error, 'response', { value: response })
}

/** Keys of error bodies whose strings say what is wrong. @see RFC 9457 §3.1 */
const MESSAGE_KEYS = ['message', 'detail', 'title', 'error'] as const

function findMessage(json: Readonly<Record<string, unknown>>): string | undefined {
  const key = MESSAGE_KEYS.find((name) => typeof json[name] === 'string')
  return key && String(json[key])
}

/** Returns the message for an answer that is of no service: of a proxy, or of a web server with pages. */
function describe({ status, headers }: ErrorResponse): string {
  const type = headers['content-type']?.split(';')[0]
  return `The server answered ${status}${type ? ` with ${type}` : ''}`
}

/** Returns the body of an error, `undefined` for anything else. */
function toErrorBody(text: string): Record<string, unknown> | undefined {
  if (text.length > MAX_ERROR_BYTES || !text.startsWith('{')) return undefined
  const json = parse(text)
  if (!isPlainObject(json)) return undefined
  const { code, name, ...others } = json
  return {
    ...others,
    // Other servers have codes of their own there: the status of the answer is the one.
    ...(isErrorStatus(code) && { code }),
    ...(!CALLER_NAMES.has(name) && { name }),
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The page of a proxy, or a part of a body: all that is known is the status.
    return undefined
  }
}

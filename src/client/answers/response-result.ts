import { GeneralError } from '../../core/errors/index.ts'
import type { Answer, ResponseType } from '../connection.ts'
import { createResponseError } from './response-error.ts'

/** Answers that have no body at all. */
const EMPTY: ReadonlySet<number> = new Set([204, 205])

/**
 * Resolves to what a call returns: `null` for an answer without a body.
 * @throws the error that the answer stands for
 * @throws {GeneralError} a success whose body is not the JSON that was asked for, or a part of it
 */
export async function readResult(answer: Answer, responseType: ResponseType): Promise<unknown> {
  const { status, body } = answer
  if (status < 200 || status > 299) throw await createResponseError(answer)
  if (EMPTY.has(status)) return null
  return responseType === 'json' ? parse(String(body), status) : body
}

function parse(body: string, status: number): unknown {
  try {
    return JSON.parse(body)
  } catch (error) {
    const content = body === '' ? 'an empty body' : 'a body that is not JSON'
    throw new GeneralError(`The server answered ${status} with ${content}`, undefined, {
      cause: error,
    })
  }
}

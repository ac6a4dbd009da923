import { GeneralError } from '../../core/errors/index.ts'
import type { Answer, ResponseType } from '../connection.ts'
import { isEmpty, isSuccess } from './error-body.ts'
import { createResponseError } from './response-error.ts'

/**
 * Returns what a call resolves to: `null` for an answer without a body.
 * @throws the error that the answer stands for
 * @throws {GeneralError} a success whose body is not the JSON that was asked for, or a part of it
 */
export function readResult(answer: Answer, responseType: ResponseType): unknown {
  const { status, body } = answer
  if (!isSuccess(status)) throw createResponseError(answer)
  if (isEmpty(status)) return null
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

import { isObject } from '../../core/value-kind.ts'

/** Errors that are each other's cause would never end. */
const MAX_CAUSES = 8

/** A query begins at its question mark: no percent-encoded one has a space or a quotation mark. */
const QUERY = /\?[^\s"<>]+/g

/**
 * Returns what an HTTP library threw as the cause of an error: name, message, code and stack, and the
 * same of its own cause. Nothing else is kept, since an error is logged with its causes, and libraries
 * put whole requests there, with the token in the headers.
 * @param conceal makes a string out of one that may hold the URL of the request
 */
export function toCause(
  thrown: unknown,
  conceal: (text: string) => string,
  causes = 0,
): Error | undefined {
  if (thrown === undefined || thrown === null || causes > MAX_CAUSES) return undefined
  const given = isObject(thrown) ? thrown : { message: thrown }
  const { name, message, code, stack, errors } = given
  const hide = (text: unknown): string => conceal(String(text)).replace(QUERY, '')
  const behind = given['cause'] ?? (Array.isArray(errors) ? errors[0] : undefined)
  const cause = toCause(behind, conceal, causes + 1)
  const error = new Error(hide(message ?? ''), cause && { cause })
  if (typeof stack === 'string') error.stack = hide(stack)
  const isCode = typeof code === 'string' || typeof code === 'number'
  return Object.assign(error, typeof name === 'string' && { name }, isCode && { code })
}

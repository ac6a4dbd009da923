import { Hint } from '../../core/errors/hint.ts'
import type { ServiceError } from '../../core/index.ts'
import { isPlainObject } from '../../core/value-kind.ts'
import { redactLogged, redactText } from './redact.ts'

/** How many nested causes of an error are logged. The limit also ends circular causes. */
const MAX_CAUSES = 5

/** How many keys of a thrown object are named. */
const MAX_KEYS = 10

/** A logged error, without its other properties. */
export interface LoggedError {
  [key: string]: unknown
  type: string
  message: string
  stack: string
}

/** The name, message and stack of an error and of its causes, without other properties. */
export function serializeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) {
    return { type: typeof error, message: describeThrown(error), stack: '' }
  }
  const { name, message, stack = '', cause } = error
  const hasCause = cause !== undefined && depth < MAX_CAUSES
  return {
    type: toText(name),
    message: toText(message),
    stack: toText(stack),
    ...(hasCause ? { cause: serializeError(cause, depth + 1) } : {}),
  }
}

/** Anything can be thrown, even an object whose conversion to a string throws. */
function toText(value: unknown): string {
  const isObject = typeof value === 'object' && value !== null
  return redactText(isObject ? Object.prototype.toString.call(value) : String(value))
}

/** Values of an object may be secrets; its keys show where it was thrown. */
function describeThrown(thrown: unknown): string {
  if (thrown instanceof Hint) return redactText(thrown.hint)
  if (!isPlainObject(thrown)) return toText(thrown)
  const keys = Object.keys(thrown).slice(0, MAX_KEYS)
  const what = keys.length === 0 ? 'an empty object' : `an object with ${keys.join(', ')}`
  return redactText(
    `What was thrown is ${what}, and no error: throw an error of remex/errors, new BadRequest('…') for example`,
  )
}

function toPlainError({ type, message, stack, cause }: LoggedError): Error {
  const options = cause === undefined ? {} : { cause: toPlainError(cause as LoggedError) }
  const error = new Error(message, options)
  // Defined as non-enumerable, so that loggers that write all properties do not repeat them.
  return Object.defineProperties(error, { name: { value: type }, stack: { value: stack } })
}

/** Returns a copy of an error that any logger may write: without additional properties, which may be secrets. */
export function toLoggableError(error: unknown): Error {
  return toPlainError(serializeError(error))
}

/**
 * Returns a copy of a thrown value for a logger that takes errors: of its class, with its name, message, stack and
 * causes, and with the status, `data` and `errors` of the response, all without secrets.
 * @param answered the error of the response: copied if the thrown value is not an error or cannot be read
 */
export function copyError(thrown: unknown, answered: ServiceError): Error {
  try {
    return createCopy(thrown instanceof Error ? thrown : answered, answered)
  } catch {
    return createCopy(answered, answered)
  }
}

function createCopy(original: Error, { code, className, data, errors }: ServiceError): Error {
  const copy = toLoggableError(original)
  Object.setPrototypeOf(copy, Object.getPrototypeOf(original))
  const told = {
    code,
    className: 'className' in original ? className : undefined,
    data: redactLogged(data),
    errors: redactLogged(errors),
  }
  for (const [name, value] of Object.entries(told)) {
    // Defined, since a class may have a getter of this name.
    const property = { value, enumerable: true, configurable: true, writable: true }
    if (value !== undefined) Object.defineProperty(copy, name, property)
  }
  return copy
}

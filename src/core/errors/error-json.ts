import { InternalError } from './coded-errors.ts'
import { ERROR_CLASSES, GeneralError } from './error-classes.ts'
import { isErrorStatus, isObject, isOrdinaryError, ServiceError } from './service-error.ts'

type ErrorClass = typeof ServiceError

// Maps, because names come from external input and `constructor` is not an error class.
const CLASS_BY_NAME: ReadonlyMap<unknown, ErrorClass> = new Map(
  [ServiceError, ...ERROR_CLASSES].map((errorClass) => [errorClass.name, errorClass]),
)

/** Keys of an error body that are read separately, or that an error never takes from a body. */
const OWN_PLACE: readonly string[] = [
  ...['code', 'className', 'data', 'errors', 'stack', 'cause', 'type'],
]

/** Returns the class for an HTTP status, {@link GeneralError} when there is none. */
export function toErrorClass(code: number): ErrorClass {
  return ERROR_CLASSES.find((errorClass) => errorClass.code === code) ?? GeneralError
}

/**
 * Returns an error body as an error, of the class that it names, else of the class for its `code`. Name, code
 * and other keys of the body are kept; a body that is not an error becomes a {@link GeneralError}.
 */
export function errorFromJSON(json: unknown, options?: ErrorOptions): ServiceError {
  if (!isObject(json)) {
    const message = json == null ? undefined : String(json)
    return new GeneralError(message, undefined, options)
  }
  const { name, message, code, className, data, errors } = json
  const status = isErrorStatus(code) ? code : undefined
  const ErrorOfName = CLASS_BY_NAME.get(name) ?? toErrorClass(status ?? 500)
  const text = typeof message === 'string' ? message : undefined
  const error = new ErrorOfName(text, undefined, options)
  if (isNonEmptyString(name)) error.name = name
  const told = {
    ...Object.fromEntries(Object.entries(json).filter(([key]) => !isReserved(key))),
    code: status,
    className: isNonEmptyString(className) ? className : undefined,
    data,
    errors,
  }
  for (const [key, value] of Object.entries(told)) {
    if (value !== undefined) Reflect.set(error, key, value)
  }
  return error
}

/**
 * Returns an error for anything thrown or received: falsy values and errors as they are, a body with a known
 * error name as that class, everything else as a plain `Error`.
 */
export function convert(value: unknown): unknown {
  if (!value || value instanceof ServiceError) return value
  if (!isObject(value)) return new Error(String(value))
  const { name, message } = value
  // `name` and `message` of an error are not enumerable, so a spread would lose them.
  if (CLASS_BY_NAME.has(name)) return errorFromJSON({ ...value, name, message })
  if (value instanceof Error) return value
  const kept = Object.entries(value).filter(([key]) => key === 'name' || !(key in Error.prototype))
  return Object.assign(
    new Error(isNonEmptyString(message) ? message : ''),
    Object.fromEntries(kept),
  )
}

/**
 * Returns what an external caller may see of anything that was thrown. The message of an ordinary
 * `new Error('message')` is kept; a `TypeError`, an error of the driver, of the system or of another library
 * becomes "Internal error". The original is the `cause`, for the log only.
 */
export function toServiceError(thrown: unknown): ServiceError {
  try {
    return readError(thrown)
  } catch (failure) {
    // Reading a thrown value may throw too: a getter, `toJSON`, a revoked proxy.
    return new InternalError('Internal error', undefined, { cause: failure })
  }
}

function readError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown
  const options = { cause: thrown }
  if (isForeignServiceError(thrown)) return errorFromJSON(thrown.toJSON(), options)
  if (!isOrdinaryError(thrown)) {
    return new InternalError('Internal error', undefined, options)
  }
  const { message, errors } = thrown
  const data = errors === undefined ? undefined : { errors }
  return new InternalError(message, data, options)
}

/** An error of `@feathersjs/errors`: migrated services may still throw them. */
function isForeignServiceError(thrown: unknown): thrown is { toJSON(): unknown } {
  return (
    thrown instanceof Error &&
    (thrown as { type?: unknown }).type === 'FeathersError' &&
    typeof (thrown as { toJSON?: unknown }).toJSON === 'function'
  )
}

/** Whether a key belongs to errors themselves, or to every object: `__proto__`, `toString`. */
function isReserved(key: string): boolean {
  return OWN_PLACE.includes(key) || key in ServiceError.prototype
}

function isNonEmptyString(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

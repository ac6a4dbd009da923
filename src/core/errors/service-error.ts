/** The body of every failed request. */
export interface ErrorJSON {
  /** The name of the error's class: `NotFound`. */
  name: string
  /** What went wrong, for the caller. */
  message: string
  /** The HTTP status. */
  code: number
  /** The name in kebab case, as clients of Feathers know it: `not-found`. */
  className: string
  /** Structured information, if there is any. */
  data?: unknown
  /** What is wrong with each part of the input, if known. */
  errors?: unknown
}

/** Structured information for the caller; a key `errors` in it becomes `error.errors`. */
export type ErrorData = Readonly<Record<string, unknown>> | readonly unknown[]

/** Whether stacks can be limited: only on V8, and unless built-in objects are frozen. */
const CAN_SET_LIMIT = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable === true

/**
 * An error with an HTTP status. Every transport sends it as
 * `{ name, message, code, className, data?, errors? }`. `cause` and the stack stay in the process.
 */
export class ServiceError extends Error {
  /** Written out in every class here, because bundlers rename classes. */
  static override readonly name: string = 'ServiceError'
  /** The HTTP status of errors of this class. */
  static readonly code: number = 500
  /** The name of this class in kebab case. */
  static readonly className: string = 'general-error'

  /**
   * How many stack frames errors below 500 keep. Such errors are responses to the caller rather than faults
   * of the program, and collecting frames costs more than the rest of the response. Raise it to debug.
   * Default: 0.
   */
  static expectedStackFrames: number = 0

  /** The HTTP status. */
  readonly code: number
  /** The name in kebab case, as clients of Feathers know it: `not-found`. */
  readonly className: string
  /** Structured information for the caller; an own property only if there is any. */
  declare readonly data?: unknown
  /** What is wrong with each part of the input; an own property only if known. */
  declare readonly errors?: unknown
  /** What happened, as a stable name: `'INVALID_QUERY'`. Sent as the header `error-code`; classes set their own. */
  declare readonly errorCode?: string

  /**
   * @param message a string for the caller; or an object `{ message?, errors?, ...data }`; or an
   *   error, which becomes the `cause`: its message and `errors` are copied, and the other properties
   *   as well if it is an ordinary `new Error()`
   * @param data additional information; its `errors` key is lifted to `error.errors`. An error here is read
   *   like an error given as the message, and replaces a missing message
   */
  constructor(
    message?: string | ErrorData | Error | null,
    data?: ErrorData | Error | null,
    options?: ErrorOptions,
  ) {
    const { text, cause, data: told, errors } = toParts(message, data)
    const { code, className } = new.target
    const { stackTraceLimit } = Error
    if (code < 500 && CAN_SET_LIMIT) Error.stackTraceLimit = ServiceError.expectedStackFrames
    super(text, cause === undefined ? options : { cause, ...options })
    if (CAN_SET_LIMIT) Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.className = className
    if (told !== undefined) this.data = told
    if (errors !== undefined) this.errors = errors
  }

  /**
   * The response status that Fastify uses where our error handler does not run, such as on a host's plain
   * routes: `code`, or 500 if that is not an error status. Lives on the prototype.
   */
  get statusCode(): number {
    return isErrorStatus(this.code) ? this.code : 500
  }

  /** Returns the body that goes over the wire, keys in this order, absent ones left out. */
  toJSON(): ErrorJSON {
    const { name, message, code, className, data, errors } = this
    const json: ErrorJSON = { name, message, code, className }
    if (data !== undefined) json.data = data
    if (errors !== undefined) json.errors = errors
    return json
  }
}

// On the prototype and not enumerable: an own property would cost as much as the error itself.
Object.defineProperty(ServiceError.prototype, 'name', {
  get(this: ServiceError): string {
    return (this.constructor as typeof ServiceError).name
  },
  set(this: ServiceError, value: string) {
    Object.defineProperty(this, 'name', { value, configurable: true, writable: true })
  },
  configurable: true,
})

/**
 * Returns the class name of an error, for the labels of metrics and spans. There must be few different labels, but
 * `error.name` can be any string, even one that a caller has sent.
 */
export function getClassName(error: ServiceError): string {
  const { name } = (Object.getPrototypeOf(error) as ServiceError).constructor
  return /^[A-Za-z]\w{0,63}$/.test(name) ? name : ServiceError.name
}

/** Whether a value is the status of an HTTP error. An error with another status could not be sent. */
export function isErrorStatus(code: unknown): code is number {
  return Number.isInteger(code) && Number(code) >= 400 && Number(code) <= 599
}

interface ErrorParts {
  readonly text: string
  readonly data: unknown
  readonly errors: unknown
  readonly cause: Error | undefined
}

function toParts(message: unknown, data: unknown): ErrorParts {
  const isText = !isObject(message)
  const given = isText ? data : message
  if (given instanceof Error) {
    const isTold = !isText && isObject(data) && !(data instanceof Error)
    const text = isText && message != null ? String(message) : given.message || 'Error'
    return joinParts(text, isTold ? data : toErrorData(given), given)
  }
  if (isText) return joinParts(String(message ?? 'Error'), data)
  if (Array.isArray(message)) return joinParts('Error', message)
  const { message: text, ...rest } = message
  return joinParts(typeof text === 'string' ? text : 'Error', rest)
}

/** Lifts `errors` out of the data. Values that are not objects are ignored. */
function joinParts(text: string, given: unknown, cause?: Error): ErrorParts {
  const isRecord = isObject(given) && !Array.isArray(given)
  // Omitting a key costs several times as much as copying everything.
  if (isRecord && 'errors' in given) {
    const { errors, ...data } = given
    return { text, data, errors, cause }
  }
  const list = isObject(given) ? given : undefined
  return { text, data: isRecord ? { ...given } : list, errors: undefined, cause }
}

/**
 * What a caller may see of an error, other than its message: all properties of an ordinary `new Error()`,
 * which the service itself set, else only `errors`, since database drivers put whole records into their
 * errors.
 */
function toErrorData(error: Error & { errors?: unknown }): object {
  const { errors } = error
  return isOrdinaryError(error) ? { ...error } : { errors }
}

/**
 * Whether this is a plain `new Error()`: not of a subclass, and without the `code` that systems and drivers
 * set.
 */
export function isOrdinaryError(thrown: unknown): thrown is Error & { errors?: unknown } {
  return (
    thrown instanceof Error &&
    Object.getPrototypeOf(thrown) === Error.prototype &&
    thrown.name === 'Error' &&
    (thrown as { code?: unknown }).code === undefined
  )
}

/** Whether a value is an object of any kind, including lists and class instances. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

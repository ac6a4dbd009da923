/** The body of every failed request. */
export interface ErrorJSON {
  name: string
  message: string
  /** The HTTP status. */
  code: number
  className: string
  data?: unknown
  errors?: unknown
}

/** Structured information for the caller; a key `errors` in it becomes `error.errors`. */
export type ErrorData = Readonly<Record<string, unknown>> | readonly unknown[]

/**
 * An error with an HTTP status that every transport sends as
 * `{ name, message, code, className, data?, errors? }`. `cause` and the stack stay in the process.
 */
export class ServiceError extends Error {
  /** Written out in every class here, because bundlers shorten the names of classes. */
  static override readonly name: string = 'ServiceError'
  static readonly code: number = 500
  static readonly className: string = 'general-error'

  readonly code: number
  readonly className: string
  declare readonly data?: unknown
  declare readonly errors?: unknown

  /**
   * @param message text for the caller, or an object `{ message?, errors?, ...data }`, or an error
   *   whose message is taken over and which becomes the `cause`
   * @param data further information; its `errors` key is lifted to `error.errors`
   */
  constructor(
    message?: string | ErrorData | Error | null,
    data?: ErrorData | null,
    options?: ErrorOptions,
  ) {
    const parts = toParts(message, data)
    super(parts.message, message instanceof Error ? { cause: message, ...options } : options)
    const { name, code, className } = new.target
    Object.defineProperty(this, 'name', { value: name, configurable: true, writable: true })
    this.code = code
    this.className = className
    if (parts.data !== undefined) this.data = parts.data
    if (parts.errors !== undefined) this.errors = parts.errors
  }

  /** Returns the body that goes over the wire, keys in this order, absent ones left out. */
  toJSON(): ErrorJSON {
    const { name, message, code, className, data, errors } = this
    return {
      name,
      message,
      code,
      className,
      ...(data === undefined ? {} : { data }),
      ...(errors === undefined ? {} : { errors }),
    }
  }
}

interface ErrorParts {
  readonly message: string
  readonly data?: unknown
  readonly errors?: unknown
}

function toParts(message: unknown, data: unknown): ErrorParts {
  if (message instanceof Error) return { message: message.message, ...toData(data) }
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) {
    const { message: text, ...rest } = message as Record<string, unknown>
    return { message: typeof text === 'string' ? text : 'Error', ...toData(rest) }
  }
  if (Array.isArray(message)) return { message: 'Error', data: message }
  return { message: message == null ? 'Error' : String(message), ...toData(data) }
}

function toData(data: unknown): { data?: unknown; errors?: unknown } {
  if (typeof data !== 'object' || data === null) return {}
  if (Array.isArray(data)) return { data }
  const { errors, ...rest } = data as Record<string, unknown>
  return errors === undefined ? { data: rest } : { data: rest, errors }
}

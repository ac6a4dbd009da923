import type { Document } from 'bson'

/** Why a command fails: the reply `{ ok: 0, code, codeName, errmsg }`, or one of `writeErrors`. */
export class CommandError extends Error {
  readonly code: number
  readonly details: Document

  constructor(code: number, message: string, details: Document = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CommandError'
    this.code = code
    this.details = details
  }
}

/** Returns the error for something that MongoDB can do and this server cannot. */
export function notSupported(what: string, code = 2): CommandError {
  return new CommandError(code, `${what} is not supported by the embedded server`)
}

/** Returns any thrown value as a CommandError, the original one kept as its cause. */
export function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof RangeError) {
    return new CommandError(
      15,
      `The request is nested too deeply or too large: ${message}`,
      {},
      { cause: error },
    )
  }
  return new CommandError(8, message, {}, { cause: error })
}

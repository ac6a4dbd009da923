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

/**
 * What the author of an application may write instead of what was refused. As the `cause` of an error
 * it stays in the process: callers outside learn nothing of options and code. Without a stack, since
 * callers outside can have such errors made.
 */
export class Hint {
  readonly hint: string
  /** The message for external callers, if that of the error contains the hint. */
  readonly message: string | undefined

  constructor(hint: string, message?: string) {
    this.hint = hint
    this.message = message
  }
}

/** Returns options for an error that carries a hint to the author of the application. */
export function withHint(hint: string): ErrorOptions {
  return { cause: new Hint(hint) }
}

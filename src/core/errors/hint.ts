/**
 * What the author of an application may write instead of what was refused. As the `cause` of an error
 * it stays in the process: callers outside learn nothing of options and code. Without a stack, since
 * callers outside can have such errors made.
 */
export class Hint {
  readonly hint: string
  /** The part of the message that is for the author, `''` for none. */
  readonly advice: string

  constructor(hint: string, advice = '') {
    this.hint = hint
    this.advice = advice
  }
}

/** Returns the message of an error for external callers: without what it says to the author. */
export function toExternalMessage({ message, cause }: Error): string {
  if (!(cause instanceof Hint) || cause.advice === '') return message
  return message.replaceAll(cause.advice, '')
}

/** Returns options for an error that carries a hint to the author of the application. */
export function withHint(hint: string): ErrorOptions {
  return { cause: new Hint(hint) }
}

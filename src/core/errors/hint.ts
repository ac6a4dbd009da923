/**
 * What the author of an application may write instead of what was refused. As the `cause` of an error
 * it stays in the process: callers outside learn nothing of options and code. Without a stack, since
 * callers outside can have such errors made.
 */
export class Hint {
  readonly hint: string

  constructor(hint: string) {
    this.hint = hint
  }
}

/** Returns options for an error that carries a hint to the author of the application. */
export function withHint(hint: string): ErrorOptions {
  return { cause: new Hint(hint) }
}

/**
 * What the author of an application can write instead of what was rejected. As the `cause` of an error it
 * stays within the process: external callers learn nothing of options and code. It has no stack, since
 * external callers can cause such errors at will.
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

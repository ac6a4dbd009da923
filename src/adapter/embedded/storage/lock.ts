/** Whoever has written records that nobody else may write until it has ended. */
export interface Owner {
  readonly ended: Promise<void>
}

/** A plain write met a record that an open transaction has changed: wait for it, then try again. */
export class LockedError extends Error {
  readonly owner: Owner

  constructor(owner: Owner) {
    super('The record is locked by a transaction')
    this.owner = owner
  }
}

/** Returns what `write` returns, tried again after each transaction that stands in its way. */
export async function whenUnlocked<Result>(write: () => Result): Promise<Result> {
  for (;;) {
    try {
      return write()
    } catch (error) {
      if (!(error instanceof LockedError)) throw error
      await error.owner.ended
    }
  }
}

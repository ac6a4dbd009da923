/** A transaction with records that nobody else may write until it has ended. */
export interface Owner {
  readonly ended: Promise<void>
}

/** A record is locked by an open transaction: a plain write has to wait for its end. */
export class LockedError extends Error {
  readonly owner: Owner

  constructor(owner: Owner) {
    super('The record is locked by a transaction')
    this.owner = owner
  }
}

/** Returns what `write` returns, which is called again after each transaction that locks it out. */
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

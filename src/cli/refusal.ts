/** Why a command does nothing. The codes never change: `docs/reference/error-codes.md` explains them. */
export type RefusalCode =
  | 'INVALID_COMMAND'
  | 'WRONG_FOLDER'
  | 'FILE_EXISTS'
  | 'MARK_MISSING'
  | 'UNSAVED_CHANGES'
  | 'CANCELLED'

/** An error in what the user asked for. Its message tells the user what is wrong and what is allowed. */
export class Refusal extends Error {
  readonly errorCode: RefusalCode

  constructor(message: string, errorCode: RefusalCode = 'INVALID_COMMAND') {
    super(message)
    this.errorCode = errorCode
  }
}

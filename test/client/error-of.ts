import type { ErrorResponse } from '../../src/client/index.ts'
import type { ServiceError } from '../../src/core/index.ts'

/** An error of the server, as a client throws it. */
type CallError = ServiceError & { readonly response: ErrorResponse }

/** Resolves to what a call is rejected with. */
export async function errorOf(call: Promise<unknown>): Promise<CallError> {
  try {
    await call
  } catch (error) {
    return error as CallError
  }
  throw new Error('The call was not rejected')
}

import type { ErrorJSON, ServiceError } from '../../core/index.ts'
import { toExternalForm } from '../../core/index.ts'
import { redactData, redactErrors } from '../logging/redact.ts'

/**
 * Returns the body of an error without secrets: its data may repeat what a request sent. What JSON can't
 * hold is left out, a circle for example: the caller needs the status.
 * @param tellLost called with the name of the part that is left out, and the reason
 */
export function toErrorBody(
  error: ServiceError,
  tellLost: (name: string, reason: unknown) => void,
): ErrorJSON {
  const { data, errors, ...body } = error.toJSON()
  const write = (name: string, value: unknown, redact: (value: unknown) => unknown): object => {
    if (value === undefined) return {}
    try {
      return { [name]: redact(toExternalForm(value)) }
    } catch (reason) {
      tellLost(name, reason)
      return {}
    }
  }
  return { ...body, ...write('data', data, redactData), ...write('errors', errors, redactErrors) }
}

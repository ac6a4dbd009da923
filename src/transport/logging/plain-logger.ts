import type { Logger } from '../../core/index.ts'
import { toLoggableError } from './loggable-error.ts'
import { REDACTED, redactLogged, redactText } from './redact.ts'
import { isSecretName } from './secret-name.ts'

/** An application, or whatever has a logger that may be replaced. */
export interface WithLogger {
  readonly logger: Logger
}

/**
 * Returns a logger that writes to the one an application has at the time, which may print every
 * property of an error, as `console` does: errors become copies with name, message, stack and causes.
 */
export function createPlainLogger(app: WithLogger): Logger {
  const createLog =
    (level: keyof Logger): Logger['error'] =>
    (details, message) => {
      const text = message === undefined ? [] : [redactText(message)]
      app.logger[level](toPlainDetails(details), ...text)
    }
  return { error: createLog('error'), warn: createLog('warn'), info: createLog('info') }
}

function toPlainDetails(details: object): object {
  const entries = Object.entries(details).map(([key, value]) => {
    const isError = key === 'err' || value instanceof Error
    if (isError) return [key, toLoggableError(value)]
    return [key, isSecretName(key) ? REDACTED : redactLogged(value)]
  })
  return Object.fromEntries(entries)
}

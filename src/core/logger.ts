/** Takes what can't be reported to a caller; `console` and Fastify's logger both fit. */
export interface Logger {
  /** Logs a failure; `details.err` is the error. */
  error(details: object, message?: string): void
  /** Logs what is probably a mistake. */
  warn(details: object, message?: string): void
  /** Logs what is worth knowing. */
  info(details: object, message?: string): void
}

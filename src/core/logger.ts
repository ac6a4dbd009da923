/** Takes what can't be reported to a caller; `console` and Fastify's logger both fit. */
export interface Logger {
  error(details: object, message?: string): void
  warn(details: object, message?: string): void
  info(details: object, message?: string): void
}

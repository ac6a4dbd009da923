import type { HookApplication } from '../hooks/hook-context.ts'

/** Logs that a listener of an event has failed, which can't be reported to the caller of a method. */
export function logListenerError({ logger }: HookApplication, error: unknown, event: string): void {
  logger.error({ err: error, event }, 'An event listener failed')
}

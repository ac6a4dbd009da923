import { passEventGate } from './event-gate.ts'
import type { HookContext } from './hook-context.ts'
import type { ServiceEntryFace } from './method-entry.ts'

/**
 * Emits `context.event` on the service, after every hook: once for each item of an array, else once
 * with the result; later, where they are held back. Events that the service says it emits itself are
 * left to it.
 */
export function emitServiceEvent(entry: ServiceEntryFace, context: HookContext): void {
  const { event } = context
  if (typeof event !== 'string' || entry.options.events.includes(event)) return
  const result: unknown = context.result
  const items = Array.isArray(result) ? result : [result]
  passEventGate(() => {
    for (const item of items) entry.emit(event, item, context)
  })
}

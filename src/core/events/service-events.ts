import type { HookContext } from '../hooks/hook-context.ts'

/** What the events of a service need of its entry. */
interface EventSource {
  readonly options: { readonly events: readonly string[] }
  emit(event: string, ...values: unknown[]): void
}

/**
 * Emits `context.event` on the service, after every hook: once for each item of an array, else once
 * with the result; later, where they are held back. Events that the service says it emits itself are
 * left to it.
 */
export function emitServiceEvent(entry: EventSource, context: HookContext): void {
  const { event } = context
  if (typeof event !== 'string' || entry.options.events.includes(event)) return
  const result: unknown = context.result
  const items = Array.isArray(result) ? result : [result]
  passEventGate(() => {
    for (const item of items) entry.emit(event, item, context)
  })
}

/** Takes what would emit the events of a call. Returns whether it does so itself, later or never. */
type EventGate = (emit: () => void) => boolean

/** For all applications of the process: a call may go from one to another, or to a mounted one. */
let gate: EventGate | null = null

/** Lets a function hold back the events of calls, whichever service they belong to. */
export function setEventGate(hold: EventGate): void {
  gate = hold
}

/** Emits the events of a call now, unless they are held back. */
function passEventGate(emit: () => void): void {
  if (gate === null || !gate(emit)) emit()
}

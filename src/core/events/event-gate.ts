import type { HookContext } from '../hooks/hook-context.ts'

/**
 * Gets a function that emits the events of a call, and the call, or `null` for other work that waits like
 * events. Returns whether it takes over: it then calls the function later or never.
 */
type HoldEvents = (emit: () => void, context: HookContext | null) => boolean

interface EventGate {
  /** Holds events back; `null` until the first transaction, so that programs without transactions pay nothing. */
  hold: HoldEvents | null
}

/**
 * The gate for the events of all applications of the process. A transaction holds back the events of every
 * call inside it, and such a call may go to an application without an adapter or transaction.
 */
export const EVENT_GATE: EventGate = { hold: null }

/**
 * Calls a function like events are emitted: after the commit of the current transaction, never after an
 * abort. Returns `false` without calling it if no transaction is running.
 */
export function afterCommit(run: () => void): boolean {
  return EVENT_GATE.hold?.(run, null) ?? false
}

/** The emitter of a service's events. */
interface EventSource {
  /** `events` are those that the service emits itself. */
  readonly options: { readonly events: readonly string[] }
  emit(event: string, ...values: unknown[]): void
}

/**
 * Emits `context.event` on the service, after every hook: once for each item of an array, else once with the
 * result; later if events are held back. The service emits events in `options.events` itself.
 */
export function emitEvent(source: EventSource, context: HookContext): void {
  const { event, result } = context
  if (typeof event !== 'string' || source.options.events.includes(event)) return
  const items: unknown[] = Array.isArray(result) ? result : [result]
  const emit = (): void => {
    for (const item of items) source.emit(event, item, context)
  }
  if (!EVENT_GATE.hold?.(emit, context)) emit()
}

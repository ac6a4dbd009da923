import type { HookContext } from '../hooks/hook-context.ts'

/**
 * Takes what would emit the events of a call, and which call that is, `null` for something else that waits like
 * events. Returns whether it does so itself, later or never.
 */
type HoldEvents = (emit: () => void, context: HookContext | null) => boolean

interface EventGate {
  /** Holds events back; `null` until the first transaction, so that programs without transactions pay nothing. */
  hold: HoldEvents | null
}

/**
 * What the events of all applications of a process pass. A transaction holds back the events of every call below
 * it, and such a call may go to an application that has neither an adapter nor a transaction.
 */
export const EVENT_GATE: EventGate = { hold: null }

/**
 * Has a function called as events are emitted: after the commit of the transaction that runs here, and not at all
 * after an abort. Returns `false` where no transaction runs, and the function is not called.
 */
export function afterCommit(run: () => void): boolean {
  return EVENT_GATE.hold?.(run, null) ?? false
}

/** What emits the events of a service. */
interface EventSource {
  /** `events` are those that the service emits itself. */
  readonly options: { readonly events: readonly string[] }
  emit(event: string, ...values: unknown[]): void
}

/**
 * Emits `context.event` on the service, after every hook: once for each item of an array, else once
 * with the result; later, where they are held back. Events that the service says it emits itself are
 * left to it.
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

import type { HookContext } from './hook-context.ts'
import { toMethodSpec } from './method-table.ts'

/** The events of results that stand for another one than their method has. */
const EVENTS = new WeakMap<object, string | null>()

/** Looks for the note of a result. Until the first is made there is nothing to look for. */
let takeNote: ((context: HookContext, returned: object) => void) | null = null

/**
 * Notes the event that the result of a method stands for, in the place of the method's own: `created`
 * for a record that an update has added, `null` for a result that is no record.
 */
export function noteEvent(result: object, event: string | null): void {
  EVENTS.set(result, event)
  takeNote = setNotedEvent
}

/** Notes for a result what is noted for another one that it was made of. Returns it. */
export function copyEventNote<R extends object>(from: object, to: R): R {
  const event = EVENTS.get(from)
  if (event !== undefined) EVENTS.set(to, event)
  return to
}

/** Sets what a method has returned as the result of a call, with the event that it stands for. */
export function setReturned(context: HookContext, returned: unknown): void {
  context.result = returned as HookContext['result']
  takeNote?.(context, returned as object)
}

/** An event that a hook has chosen stays. */
function setNotedEvent(context: HookContext, returned: object): void {
  const event = EVENTS.get(returned)
  const { event: own } = toMethodSpec(context.method)
  // A method without an event only hands on what another one has written.
  if (event === undefined || own === null || context.event !== own) return
  context.event = event
}

/** Takes what would emit the events of a call. Returns whether it does so itself, later or never. */
export type EventGate = (emit: () => void) => boolean

/** For all applications of the process: a call may go from one to another, or to a mounted one. */
let gate: EventGate | null = null

/** Lets a function hold back the events of calls, whichever service they belong to. */
export function setEventGate(hold: EventGate): void {
  gate = hold
}

/** Emits the events of a call now, unless they are held back. */
export function passEventGate(emit: () => void): void {
  if (gate === null || !gate(emit)) emit()
}

import type { HookContext } from '../hooks/hook-context.ts'

/** An event of a record, on its way to all processes of an application. */
export interface BusEvent {
  /** The path of the service. */
  readonly path: string
  /** `created`, `updated`, `patched`, `removed`, or an event of the service itself. */
  readonly name: string
  /** The id of the record, as it is stored. */
  readonly id: unknown
  /** Where the record is, as the service names it. */
  readonly place: string
  /** A removed record as it was stored, or the data of the service's own event. */
  readonly record?: object | undefined
}

/** Takes the events of all processes. */
export interface BusReceiver {
  /**
   * Takes an event, of this process or another one, in the order in which they arrive.
   * @param position identifies the event to clients that reconnect; the same in all processes
   * @param storedAt when it was stored, in ms since the epoch, by a clock that all processes share, such as that of
   *   the database. `undefined` if it is not stored yet; a call of {@link confirm} follows
   */
  receive(event: BusEvent, position: string, storedAt?: number): void
  /** Takes the storage time of an event that {@link receive} got before it was stored. */
  confirm(path: string, position: string, storedAt: number): void
  /** Called when an unknown set of events may be missing. */
  lose(): void
  /**
   * Returns the events of a call that is about to be committed. From then on, the bus is responsible for
   * them.
   */
  describe(context: HookContext): Promise<readonly BusEvent[]>
}

/** Carries events between the processes of an application; `mongoEvents()` is one. */
export interface EventBus {
  /**
   * By how much the order of events may differ between processes, in milliseconds: a client that reconnects
   * gets events again from that much earlier.
   */
  readonly overlapMs: number
  /** Resolves when events arrive, starting with those kept from before. */
  open(receiver: BusReceiver): Promise<void>
  /**
   * Sends an event to all processes, including this one. Never throws: lost events are reported once that is
   * possible.
   */
  publish(event: BusEvent): void
  /** Rejects while events do not arrive. */
  check(): Promise<void>
  /** Resolves when published events have been handed on and no more arrive. */
  close(): Promise<void>
}

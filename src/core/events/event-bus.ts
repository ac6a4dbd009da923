import type { HookContext } from '../hooks/hook-context.ts'

/** An event of a record, on its way to all processes of an application. */
export interface BusEvent {
  /** The path of the service. */
  readonly path: string
  /** `created`, `updated`, `patched`, `removed`, or an event of the service itself. */
  readonly name: string
  /** The id of the record, as it is stored. */
  readonly id: unknown
  /** Where the record is, as the service tells it. */
  readonly place: string
  /** A removed record as it was stored, or what an event of the service itself says. */
  readonly record?: object | undefined
}

/** Takes the events of all processes. */
export interface BusReceiver {
  /**
   * Takes an event, of this process or another one, in the order in which they arrive.
   * @param position names the event to clients that come back; the same in all processes
   * @param storedAt when it was stored, in ms since the epoch, by a clock that all processes share, such as that of
   *   the database. `undefined` if it is not stored yet; a call of {@link confirm} follows
   */
  receive(event: BusEvent, position: string, storedAt?: number): void
  /** Takes the time at which an event was stored that {@link receive} got before it was stored. */
  confirm(path: string, position: string, storedAt: number): void
  /** Takes note that events may be missing. It is not known which. */
  lose(): void
  /** Returns the events of a call that is about to be committed, and leaves them to the bus. */
  describe(context: HookContext): Promise<readonly BusEvent[]>
}

/** Carries events between the processes of an application; `mongoEvents()` is one. */
export interface EventBus {
  /**
   * By how much the order of events may differ from process to process, in milliseconds: a client that
   * comes back is told from so much earlier on.
   */
  readonly overlapMs: number
  /** Resolves when events arrive, those first that are kept from before. */
  open(receiver: BusReceiver): Promise<void>
  /** Hands an event to all processes, this one too. Never throws: what is lost is told when it can be. */
  publish(event: BusEvent): void
  /** Rejects while events do not arrive. */
  check(): Promise<void>
  /** Resolves when what was published has been handed on, and nothing arrives any more. */
  close(): Promise<void>
}

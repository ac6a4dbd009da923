import { isDeepStrictEqual } from 'node:util'
import type { Params } from '../../core/index.ts'
import { STANDARD_EVENTS } from '../../core/method-table.ts'
import { copyPlain } from '../../core/schema/plain-objects.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import { copyParams } from '../finds/followed-find.ts'
import { writeRecord } from '../replies/result-serializer.ts'
import type { LoggedEvent } from './event-log.ts'
import { RECHECK } from './event-log.ts'
import { toFrame } from './event-stream.ts'
import { findPublisher } from './publish.ts'
import type { Round } from './round.ts'
import { toEventKey } from './round.ts'
import type { Topic } from './topic.ts'

/**
 * Why a record is not seen: `null` where the query or a hook hides it, `undefined` where nothing is said. A client that has
 * a hidden record gets the event `left`: see `stream-frames.ts`.
 */
type Hidden = null | undefined

/** The frame of a record, without the line of its id, or why it is not seen. */
export type Shown = string | Hidden

/** Asks the publishers of services. */
export interface Publishing {
  /** Whether the publisher of the service lets a caller hear of a record. */
  allows(topic: Topic, record: object, event: string, params: Params): boolean
}

/** Who is shown records: one caller, by one call of `find`. */
export interface Viewer {
  readonly hub: Publishing
  readonly topic: Topic
  readonly view: RecordView | null
  /** The params as the caller has sent them. */
  readonly given: Params
  /** The params as the hooks of `find` have made them. */
  readonly params: Params
  /** Returns what `find` would answer with these records. */
  createResult(records: readonly object[]): unknown
}

/**
 * Returns the event to send for a logged one, `null` for none: the event is about another place, or the record as it
 * is now is sent already.
 * @param told the keys of the records that are sent as they are now; the function adds and removes keys
 */
export function chooseEvent(
  view: RecordView | null,
  logged: LoggedEvent,
  told: Set<string>,
  round: Round,
): LoggedEvent | null {
  if (view === null) return logged.name === RECHECK ? null : logged
  if (logged.place !== view.place) return null
  const event = round.eventFor(view, logged)
  const key = toEventKey(event)
  if (event.name === 'removed') told.delete(key)
  if (event.name === 'removed' || isOwnEvent(event.name)) return event
  // Several changes of a record would all send the same record, as it is now.
  if (told.has(key)) return null
  told.add(key)
  return event
}

/** Returns what is shown of an event to all whose view is the same. */
export function shareRecord(viewer: Viewer, event: LoggedEvent, round: Round): Shown {
  const record = judge(viewer, event, round)
  return record == null ? record : round.toFrame(viewer.view, event.name, record)
}

/** Has the hooks of `find` make what is shown of an event. */
export async function showRecord(viewer: Viewer, event: LoggedEvent, round: Round): Promise<Shown> {
  const record = judge(viewer, event, round)
  if (record == null) return record
  const { topic, view, given, params } = viewer
  const { find } = topic
  const picked = view?.pick(record) ?? record
  // A stored record was read for all streams: what a hook writes into it must not reach another caller.
  // What the service has emitted may hold external forms, which a copy would lose.
  const isStored = view !== null && !isOwnEvent(event.name)
  const own = isStored ? (copyPlain(picked) as object) : picked
  const shown = await find.show(copyParams(params, given.query), async (asked) => {
    const isFound = await isFoundBy(asked, viewer, event, round)
    return viewer.createResult(isFound ? [own] : [])
  })
  return shown === undefined ? null : toFrame(event.name, writeRecord(find.method, shown))
}

/** Whether an event is one of the service's own, and tells of no change. */
export function isOwnEvent(name: string): boolean {
  return !STANDARD_EVENTS.includes(name)
}

/** Returns the record of an event where the caller may see it; `null` where it is not of the query, or no longer. */
function judge(
  { hub, topic, view, params }: Viewer,
  event: LoggedEvent,
  round: Round,
): object | Hidden {
  const isRemoved = event.name === 'removed'
  // The event has no hidden fields. If these may decide, only the id of the removed record is sent.
  if (isRemoved && view !== null && mayAskHidden(topic, view)) return null
  const stored = isRemoved ? event.record : round.recordOf(event, view)
  // Gone by now: the event of that is on its way.
  if (stored === undefined) return isRemoved ? null : undefined
  if (!round.matches(view, stored)) return null
  // A removal is still told by the id alone to a caller who has the record.
  if (!hub.allows(topic, stored, event.name, params)) return isRemoved ? null : undefined
  return isOwnEvent(event.name) ? (event.record ?? stored) : stored
}

/** Whether a query, or a publisher, may read hidden fields to decide which streams get a record. */
function mayAskHidden({ find }: Topic, view: RecordView): boolean {
  const { service } = find.method.entry
  if (view.asksHidden === true) return true
  return view.hidesFields === true && findPublisher(service) !== undefined
}

/** Whether the record of an event is found by the params that the hooks have made this time. */
async function isFoundBy(
  asked: Params,
  { topic, view, params }: Viewer,
  event: LoggedEvent,
  round: Round,
): Promise<boolean> {
  const { service } = topic.find.method.entry
  if (isDeepStrictEqual(asked.query, params.query) || !isFollowable(service)) return true
  const stored = event.name === 'removed' ? event.record : round.recordOf(event, view)
  const other = await service.followRecords(asked)
  if (other === null) return false
  if (event.name === 'removed' && mayAskHidden(topic, other)) return false
  return stored !== undefined && other.place === view?.place && other.matches(stored)
}

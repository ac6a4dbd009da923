import { isDeepStrictEqual } from 'node:util'
import type { Params } from '../../core/index.ts'
import { NotAcceptable } from '../../core/index.ts'
import { copyPlain } from '../../core/schema/plain-objects.ts'
import type { RecordView } from '../../core/services/record-view.ts'
import { isFollowable } from '../../core/services/record-view.ts'
import { copyParams } from '../finds/followed-find.ts'
import { writeRecord } from '../replies/result-serializer.ts'
import type { LoggedEvent } from './event-log.ts'
import { isOwnEvent, RECHECK } from './event-log.ts'
import { toFrame } from './event-stream.ts'
import { isOutage } from './find-queue.ts'
import type { FollowedCall } from './followed-call.ts'
import { findPublisher } from './publish.ts'
import type { Round } from './round.ts'
import { toEventKey } from './round.ts'
import type { Topic } from './topic.ts'

/**
 * Why a record is not shown: `null` if the query or a hook hides it, `undefined` if no event is sent at all. A client
 * that has a hidden record gets the event `left`: see `stream-frames.ts`.
 */
type Hidden = null | undefined

/** The frame of a record, without its id line, or the reason why it is not shown. */
export type Shown = string | Hidden

/**
 * Returns the event to send for a logged one. `null` if none is needed: the event is about another place, or the
 * current version of the record was already sent.
 * @param told the keys of records whose current version was sent; the function adds and removes keys
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
  // Several changes of a record would all send its same current version.
  if (told.has(key)) return null
  told.add(key)
  return event
}

/** Returns what an event shows to every caller with the same view. */
export function shareRecord(call: FollowedCall, event: LoggedEvent, round: Round): Shown {
  const record = judge(call, event, round)
  return record == null ? record : round.toFrame(call.view, event.name, record)
}

/**
 * Runs the hooks of `find` to get what an event shows. Resolves to its frame; to `false` if a service or the database
 * is unavailable, or a hook sets the result: then only a snapshot is correct.
 */
export async function showRecord(
  call: FollowedCall,
  event: LoggedEvent,
  round: Round,
): Promise<Shown | false> {
  try {
    const text = await call.topic.queue.limit(() => runHooks(call, event, round))
    call.recheck.noteTold()
    return text
  } catch (error) {
    if (isOutage(error) || error instanceof NotAcceptable) return false
    throw error
  }
}

async function runHooks(call: FollowedCall, event: LoggedEvent, round: Round): Promise<Shown> {
  const record = judge(call, event, round)
  if (record == null) return record
  const { topic, view, given, params } = call
  const { find } = topic
  const picked = view?.pick(record) ?? record
  // A copy: the stored record was read for all streams, and changes by a hook must not reach another caller. Data that
  // the service has emitted may hold external forms, which a copy would lose.
  const isStored = view !== null && !isOwnEvent(event.name)
  const own = isStored ? (copyPlain(picked) as object) : picked
  const shown = await find.show(copyParams(params, given.query), async (asked) => {
    const isFound = await isFoundBy(asked, call, event, round)
    return call.createResult(isFound ? [own] : [])
  })
  return shown === undefined ? null : toFrame(event.name, writeRecord(find.method, shown))
}

/** Returns the record of an event if the caller may see it; `null` if it does not, or no longer, match the query. */
function judge(
  { hub, topic, view, params }: FollowedCall,
  event: LoggedEvent,
  round: Round,
): object | Hidden {
  const isRemoved = event.name === 'removed'
  // The event lacks hidden fields. If those may decide, only the id of the removed record is sent.
  if (isRemoved && view !== null && mayAskHidden(topic, view)) return null
  const stored = isRemoved ? event.record : round.recordOf(event, view)
  // The record is already gone: the event for that will follow.
  if (stored === undefined) return isRemoved ? null : undefined
  if (!round.matches(view, stored)) return null
  // A caller who has the record still gets the id of the removed record.
  if (!hub.allows(topic, stored, event.name, params)) return isRemoved ? null : undefined
  return isOwnEvent(event.name) ? (event.record ?? stored) : stored
}

/** Returns whether a query or a publisher may read hidden fields to decide which streams get a record. */
function mayAskHidden({ find }: Topic, view: RecordView): boolean {
  const { service } = find.method.entry
  if (view.asksHidden === true) return true
  return view.hidesFields === true && findPublisher(service) !== undefined
}

/** Returns whether the record of an event matches the params that the hooks have made this time. */
async function isFoundBy(
  asked: Params,
  { topic, view, params }: FollowedCall,
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

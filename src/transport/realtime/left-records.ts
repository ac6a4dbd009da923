import type { LoggedEvent } from './event-log.ts'
import { toFrame } from './event-stream.ts'
import { toEventKey } from './round.ts'
import type { SentRecords } from './sent-records.ts'
import type { Topic } from './topic.ts'

/**
 * Returns the frame that has a client drop a record: it was removed, or it has left the query. A record that the query, or
 * a hook, hides by now was judged so in `shown-records.ts`. Returns `''` where the client does not have the record, `null`
 * where nobody knows whether it has.
 */
export function toLeftFrame(sent: SentRecords, event: LoggedEvent, topic: Topic): string | null {
  const hadIt = takeBack(sent, event, topic)
  if (hadIt === undefined) return null
  if (!hadIt) return ''
  const data = JSON.stringify({ [topic.idField]: event.id })
  return toFrame(event.name === 'removed' ? event.name : 'left', data)
}

/** Notes that a client has a record no more. Returns whether it had the record, `undefined` where nobody knows. */
export function takeBack(
  sent: SentRecords,
  event: LoggedEvent,
  { log }: Topic,
): boolean | undefined {
  return sent.takeBack(toEventKey(event), event.sequence, log.last - log.size + 1)
}

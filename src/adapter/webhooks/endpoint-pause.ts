import type { Collection, ObjectId } from 'mongodb'
import type { Job } from '../jobs/job-handlers.ts'
import { Postponed } from '../jobs/job-handlers.ts'
import type { JobService } from '../jobs/jobs.ts'
import type { StoredEndpoint } from './webhook-endpoints.ts'

/** Returns the group of the jobs for an endpoint. */
export const toGroup = (endpointId: ObjectId): string => `webhook/${endpointId}`

const FIRST_PAUSE_MS = 5_000
const LAST_PAUSE_MS = 5 * 60_000

/** What the attempt of a delivery needs. */
interface Pausing {
  readonly endpoints: Collection<StoredEndpoint>
  readonly jobs: JobService
  readonly job: Job
  /** How long a delivery that goes first may take, in ms. */
  readonly probeMs: number
}

/**
 * Resolves to an endpoint to which a delivery may be sent now, `null` if it is disabled or was removed. After a pause,
 * the first delivery that asks goes first, and the others wait for its end.
 * @throws {Postponed} the delivery has to wait
 */
export async function admitDelivery(
  _id: ObjectId,
  isResend: boolean,
  { endpoints, jobs, job, probeMs }: Pausing,
): Promise<StoredEndpoint | null> {
  const enabled = { _id, enabled: true }
  const found = await endpoints.findOne(enabled)
  if (found?.pause == null) return found
  // Only `app.jobs.run({ at })` runs a job before it is due.
  const isOver = { $lte: ['$pause.until', { $max: ['$$NOW', job.dueAt] }] }
  const probes = isResend && job.attempt === 1 ? [job.id, null] : [job.id]
  const isNext = { $or: [isOver, { $in: ['$pause.probe', probes] }] }
  const until = { $add: ['$$NOW', probeMs] }
  const first = { ms: '$pause.ms', until, probe: { $literal: job.id } }
  const pause = { $cond: [{ $and: ['$pause', isNext] }, first, '$pause'] }
  const options = { returnDocument: 'after' } as const
  const endpoint = await endpoints.findOneAndUpdate(enabled, [{ $set: { pause } }], options)
  if (endpoint?.pause == null) return endpoint
  if (endpoint.pause.probe !== job.id) throw new Postponed(endpoint.pause.until)
  await postponeAll(jobs, endpoint)
  // Those that wait longer, if this one has gone first before the end of the pause.
  await jobs.reschedule(toGroup(_id), found.pause.until, endpoint.pause.until)
  return endpoint
}

/**
 * Pauses an endpoint after a request without a response, and ends its pause after one with. Any status is a response: it
 * comes soon, and 500 may be about one event.
 */
export async function notePause(
  { _id, pause }: StoredEndpoint,
  { status }: { readonly status: number | null },
  { endpoints, jobs }: Pausing,
): Promise<void> {
  // Requests that began before the pause do not change it while another delivery goes first.
  const own = { _id, 'pause.probe': pause?.probe ?? null }
  if (status === null) {
    const ms = Math.min(2 * (pause?.ms ?? FIRST_PAUSE_MS / 2), LAST_PAUSE_MS)
    const next = { ms, until: { $add: ['$$NOW', ms] }, probe: null }
    const options = { returnDocument: 'after' } as const
    const paused = await endpoints.findOneAndUpdate(own, [{ $set: { pause: next } }], options)
    if (paused !== null) await postponeAll(jobs, paused)
  } else if (pause != null) {
    await endpoints.updateOne(own, { $set: { pause: null } })
    await jobs.reschedule(toGroup(_id), pause.until, 0)
  }
}

/** Postpones all deliveries at once: each would occupy a place for some commands. */
async function postponeAll(jobs: JobService, { _id, pause }: StoredEndpoint): Promise<void> {
  if (pause != null) await jobs.reschedule(toGroup(_id), { $lt: pause.until }, pause.until)
}

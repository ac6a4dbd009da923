import { createHmac } from 'node:crypto'
import type { Collection, ObjectId } from 'mongodb'
import type { Logger } from '../../core/hooks/hook-context.ts'
import { SafeFetchError, safeFetch } from '../../core/network/safe-fetch.ts'
import { DateSchema } from '../../core/schema/index.ts'
import type { ServiceSchemas } from '../../core/services/service-schemas.ts'
import { MAX_TIMER_MS } from '../connection/connect-mongodb.ts'
import type { Job, JobHandler } from '../jobs/job-handlers.ts'
import { RetryLater } from '../jobs/job-handlers.ts'
import type { JobService } from '../jobs/jobs.ts'
import { ObjectIdSchema } from '../object-id.ts'
import type { RecordService } from '../record-hooks/record-hook.ts'
import { admitDelivery, notePause } from './endpoint-pause.ts'
import type { StoredEndpoint } from './webhook-endpoints.ts'

/** What an endpoint has answered. */
export interface WebhookAnswer {
  /** When the request was sent. */
  readonly at: Date
  /** How long it took. */
  readonly ms: number
  /** The status of the response, `null` without a response. */
  readonly status: number | null
  /** The first 500 bytes of the response. */
  readonly body: string
  /** What was wrong, `null` for a success. */
  readonly error: string | null
}

/** An event for one endpoint, as its owner sees it. */
export interface WebhookDelivery {
  /** With `msg_` before it, the header `webhook-id` of its requests. */
  readonly _id: ObjectId
  /** The `_id` of the endpoint. */
  readonly endpointId: ObjectId
  /** `orders.created` */
  readonly event: string
  /** `'pending'` until it has succeeded, or failed for the last time. A patch with `'pending'` sends it again. */
  readonly status: 'pending' | 'delivered' | 'failed'
  /** What is sent: JSON of `{ type, timestamp, data }`. */
  readonly body: string
  /** The last 20 answers. */
  readonly answers: readonly WebhookAnswer[]
  /** When the record was written. */
  readonly createdAt: Date
  /** When the database removes it. */
  readonly expiresAt: Date
}

/** A delivery as it is stored. */
export interface StoredDelivery extends WebhookDelivery {
  readonly owner: unknown
  /** When the last request was sent, by the clock of the database. */
  readonly sentAt?: Date
}

const STRING = { type: 'string' }

/** What external callers may send, and what they get. */
export const DELIVERY_SCHEMAS: ServiceSchemas = {
  entity: {
    type: 'object',
    properties: {
      ...{ _id: ObjectIdSchema(), endpointId: ObjectIdSchema(), event: STRING, body: STRING },
      ...{ status: STRING, answers: { type: 'array', items: { type: 'object' } } },
      ...{ createdAt: DateSchema(), expiresAt: DateSchema() },
    },
  },
  patch: { type: 'object', properties: { status: { const: 'pending' } }, required: ['status'] },
}

/** The name of the job that sends a delivery. */
export const DELIVERY_JOB = 'webhook'

/** Other jobs run first: each of these may wait for a slow server. */
export const DELIVERY_PRIORITY = -1

/** How much longer the job of a request may take, in ms, to store the answer. */
const STORE_MS = 30_000

/** The status by which an endpoint asks for no more requests. */
const GONE = 410

const MAX_ANSWERS = 20
const ANSWER_BYTES = 500
const KEEP_SECRET_MS = 24 * 60 * 60 * 1_000

/** How deliveries are sent. */
interface DeliveryOptions {
  readonly attempts: number
  readonly backoffMs: (attempt: number) => number
  readonly timeoutMs: number
  readonly disableAfter: number
  readonly allowPrivateNetwork: boolean
  /** How many are sent at the same time. */
  readonly concurrency: number
  readonly logger: () => Logger
  readonly jobs: JobService
}

/** The data of the job that sends a delivery. */
interface DeliveryJob {
  readonly id: ObjectId
  /** Whether its owner has asked for it. */
  readonly isResend?: boolean
}

/** Returns the handler of the jobs that send deliveries. It asks for a retry as long as a delivery is to be sent again. */
export function createDeliveryHandler(
  options: DeliveryOptions,
  deliveryService: RecordService,
  endpointService: RecordService,
): JobHandler<DeliveryJob> {
  const { attempts, backoffMs, concurrency } = options
  const timeoutMs = Math.min(options.timeoutMs + STORE_MS, MAX_TIMER_MS)
  return {
    // One more than are made: a process may end in the last one.
    ...{ attempts: attempts + 1, backoffMs, concurrency, timeoutMs },
    async run({ id: _id, isResend = false }, { job }) {
      const deliveries = (await deliveryService.getModel()) as unknown as Collection<StoredDelivery>
      const endpoints = (await endpointService.getModel()) as unknown as Collection<StoredEndpoint>
      // The clock of a process may be wrong, and receivers reject signatures of another time.
      const now = { $currentDate: { sentAt: true } } as const
      const delivery = await deliveries.findOneAndUpdate({ _id }, now, { returnDocument: 'after' })
      if (delivery === null || delivery.status === 'delivered') return
      const pausing = { endpoints, jobs: options.jobs, job, probeMs: timeoutMs }
      const endpoint = await admitDelivery(delivery.endpointId, isResend, pausing)
      const { answer, problem = answer.error } = await send(endpoint, delivery, options, job)
      const isLast = endpoint === null || answer.status === GONE || job.attempt >= attempts
      const status = answer.error === null ? 'delivered' : isLast ? 'failed' : 'pending'
      const $push = { answers: { $each: [answer], $slice: -MAX_ANSWERS } }
      await deliveries.updateOne({ _id }, { $set: { status }, $push })
      if (endpoint !== null) await notePause(endpoint, answer, pausing)
      const text = `Webhook ${_id} was not delivered: ${problem}`
      if (status === 'pending') throw new RetryLater(text)
      const { id, name, attempt } = job
      if (status === 'failed') options.logger().info({ job: { id, name, attempt } }, text)
      if (endpoint !== null) await noteEnd(endpoints, endpoint, answer, options)
    },
  }
}

/** What users see of every request without a response: what exactly is wrong would show them the internal network. */
const NO_RESPONSE = 'No valid response from a public address in time'

/** The answer to a request, and what the log shows instead of its error. */
interface SentDelivery {
  readonly answer: WebhookAnswer
  readonly problem?: string
}

/** Sends a delivery once. Rejects if the attempt of the job ends before there is an answer. */
async function send(
  endpoint: StoredEndpoint | null,
  { _id, body, sentAt: at = new Date() }: StoredDelivery,
  { timeoutMs, allowPrivateNetwork }: DeliveryOptions,
  { signal }: Job,
): Promise<SentDelivery> {
  const start = performance.now()
  const answer = { at, ms: 0, status: null, body: '' }
  if (endpoint === null) {
    return { answer: { ...answer, error: 'The endpoint is disabled or was removed' } }
  }
  const id = `msg_${_id}`
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signature = sign(`${id}.${timestamp}.${body}`, endpoint.secrets, at)
  try {
    const response = await safeFetch(endpoint.url, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'webhook-id': id },
        ...{ 'webhook-timestamp': timestamp, 'webhook-signature': signature },
      },
      ...{ body, signal, timeoutMs, allowPrivateNetwork, maxBytes: ANSWER_BYTES, cutBody: true },
    })
    const { status, ok } = response
    const problem = `Status ${status}${status < 400 ? ': redirects are not followed' : ''}`
    const ms = Math.round(performance.now() - start)
    return { answer: { at, ms, status, body: await response.text(), error: ok ? null : problem } }
  } catch (error) {
    if (!(error instanceof SafeFetchError)) throw error
    const ms = Math.round(performance.now() - start)
    return { answer: { ...answer, ms, error: NO_RESPONSE }, problem: error.message }
  }
}

/**
 * Returns the signatures by the newest secret, and by those that were replaced within a day.
 * @see https://www.standardwebhooks.com
 */
function sign(content: string, secrets: StoredEndpoint['secrets'], now: Date): string {
  const signatures = secrets.flatMap(({ key }, index) => {
    const replacedAt = secrets[index - 1]?.at ?? now
    if (now.getTime() - replacedAt.getTime() > KEEP_SECRET_MS) return []
    const secret = Buffer.from(key.replace('whsec_', ''), 'base64')
    return `v1,${createHmac('sha256', secret).update(content).digest('base64')}`
  })
  return signatures.join(' ')
}

/** Counts the deliveries in a row that have failed. Disables an endpoint that has too many, or is gone. */
async function noteEnd(
  endpoints: Collection<StoredEndpoint>,
  { _id, failures }: StoredEndpoint,
  { status, error }: WebhookAnswer,
  { disableAfter }: DeliveryOptions,
): Promise<void> {
  if (error === null) {
    if (failures > 0) await endpoints.updateOne({ _id }, { $set: { failures: 0 } })
    return
  }
  await endpoints.updateOne({ _id }, { $inc: { failures: 1 } })
  const isOver = status === GONE ? {} : { failures: { $gte: disableAfter } }
  const reason =
    status === GONE
      ? 'It responded with status 410: gone'
      : `${disableAfter} deliveries in a row have failed. The last one: ${error}`
  const disabled = { $set: { enabled: false, reason } }
  await endpoints.updateOne({ _id, enabled: true, ...isOver }, disabled)
}

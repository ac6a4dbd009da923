import type { ClientSession, Collection, Document, IndexDescription } from 'mongodb'
import { ObjectId } from 'mongodb'
import { Conflict } from '../../core/errors/index.ts'
import { callDatabase } from '../driver-error.ts'

/** A job as it is stored. */
export interface JobRecord {
  /** `params.job.id` of its attempts, as text. */
  readonly _id: ObjectId
  /** The name of its handler. */
  readonly name: string
  /** What the handler gets. */
  readonly data: unknown
  /** `'dead'` after the last attempt has failed. Set to `'open'` with `attempts: 0`, it runs again. */
  readonly state: 'open' | 'dead'
  /** Higher runs first. */
  readonly priority: number
  /** How many attempts have begun. */
  readonly attempts: number
  /** When it is due; while it runs: when its lease ends. */
  readonly runAt: Date
  /** When it was enqueued. */
  readonly createdAt: Date
  /** The attempt that runs, `null` for none. */
  readonly lease: string | null
  /** When that attempt was due. */
  readonly dueAt: Date | null
  /** Why the last attempt failed, `null` before the first failure. */
  readonly error: string | null
  /** At most one waiting job of a name has this key; an attempt removes it. That of a schedule is empty, and stays. */
  readonly key?: string
  /** Jobs of a group, which is not a name, take at most a quarter of a process's places, and move together. */
  readonly group?: string
  /** Changes with each enqueue, so that a transaction conflicts with an attempt that begins before its commit. */
  readonly mark: ObjectId
  /** The id of the HTTP request that enqueued it. */
  readonly requestId?: string
}

/** The fields of a new job. */
export interface NewJob
  extends Pick<JobRecord, 'name' | 'data' | 'priority'>,
    Pick<Partial<JobRecord>, 'key' | 'group' | 'requestId'> {
  /** When it is due: a date, or a delay in ms. */
  readonly due: Date | number
}

/** A job whose attempt has begun. */
export interface ClaimedJob extends JobRecord {
  readonly lease: string
  readonly dueAt: Date
}

/** What an attempt changes at its end, and when the job is due again: a date, or a delay in ms. */
export interface AttemptEnd extends Partial<Pick<JobRecord, 'state' | 'attempts' | 'error'>> {
  readonly due: Date | number
}

export const JOB_INDEXES: readonly IndexDescription[] = [
  { key: { state: 1, priority: -1, runAt: 1 } },
  {
    key: { name: 1, key: 1 },
    unique: true,
    partialFilterExpression: { state: 'open', key: { $exists: true } },
  },
  { key: { group: 1 }, sparse: true },
]

const NEW = { state: 'open', attempts: 0, lease: null, dueAt: null, error: null } as const

/** Returns an expression for a time by the clock of the server: those of processes may differ. */
const toTime = (due: Date | number): Date | Document =>
  typeof due === 'number' ? { $add: ['$$NOW', due] } : due

/** The commands for jobs. An attempt writes only as long as it holds the lease. */
export class JobStore {
  /** Resolves to the collection of the jobs. */
  readonly open: () => Promise<Collection<JobRecord>>

  constructor(open: () => Promise<Collection<JobRecord>>) {
    this.open = open
  }

  /** Resolves to the time of the server. */
  async readTime(): Promise<Date> {
    const { db } = await this.open()
    const { localTime } = await callDatabase(() => db.command({ hello: 1 }))
    return localTime as Date
  }

  /** Stores a job, unless a waiting one has the same key. Resolves to the job that is stored then. */
  async add({ due, ...job }: NewJob, session?: ClientSession): Promise<JobRecord> {
    const collection = await this.open()
    const mark = new ObjectId()
    const record = { _id: mark, ...job, ...NEW, mark }
    const { name, key } = job
    const filter = key === undefined ? { _id: record._id } : { name, key, state: NEW.state }
    // `$setOnInsert` has no access to the time of the server.
    const times = { createdAt: '$$NOW', runAt: toTime(due) }
    const isNew = { $eq: [{ $type: '$createdAt' }, 'missing'] }
    const created = { $mergeObjects: [{ $literal: record }, times] }
    const known = { $mergeObjects: ['$$ROOT', { mark }] }
    const update = [{ $replaceWith: { $cond: [isNew, created, known] } }]
    const options = { upsert: true, returnDocument: 'after', ...(session && { session }) } as const
    const write = (): Promise<unknown> => collection.findOneAndUpdate(filter, update, options)
    const stored = callDatabase(write).catch((error: unknown) => {
      // Two processes may insert the same key at once: the second one then finds the job of the first.
      if (session === undefined && error instanceof Conflict) return callDatabase(write)
      throw error
    })
    return stored as Promise<JobRecord>
  }

  /** Stores jobs that are due now, by one command. Their keys must be new. */
  async addAll(jobs: readonly Omit<NewJob, 'due'>[], session?: ClientSession): Promise<void> {
    const collection = await this.open()
    const now = await this.readTime()
    const records = jobs.map((job): JobRecord => {
      const _id = new ObjectId()
      return { _id, ...job, ...NEW, mark: _id, createdAt: now, runAt: now }
    })
    await callDatabase(() => collection.insertMany(records, { ...(session && { session }) }))
  }

  /** Stores the job of a schedule. One that is stored becomes due at this time, unless it is due earlier. */
  async arm(name: string, due: Date): Promise<void> {
    const { _id } = await this.add({ name, key: '', data: null, priority: 0, due })
    const collection = await this.open()
    // Once this time has come, another process may have run it.
    const isAhead = { $expr: { $lt: ['$$NOW', due] } }
    const later = { _id, lease: null, runAt: { $gt: due }, ...isAhead }
    await callDatabase(() => collection.updateOne(later, { $set: { runAt: due } }))
  }

  /**
   * Begins an attempt of the next due job of some handlers. Resolves to `null` if none is due.
   * @param busy the groups whose jobs have to wait
   * @param leaseMs how long the attempt holds the job, unless this time is extended
   * @param at also takes waiting jobs that are due by this date
   */
  async claim(
    names: Iterable<string>,
    busy: readonly string[],
    leaseMs: number,
    at?: Date,
  ): Promise<ClaimedJob | null> {
    const isDue = { $expr: { $lte: ['$runAt', '$$NOW'] } }
    const isAwaited = at === undefined ? [] : [{ lease: null, runAt: { $lte: at } }]
    const isFree = busy.length === 0 ? {} : { group: { $nin: busy } }
    const attempt = {
      ...{ lease: new ObjectId().toHexString(), dueAt: '$runAt', runAt: toTime(leaseMs) },
      attempts: { $add: ['$attempts', 1] },
      key: { $cond: [{ $eq: ['$key', ''] }, '', '$$REMOVE'] },
    }
    const collection = await this.open()
    return callDatabase(() =>
      collection.findOneAndUpdate(
        { state: 'open', name: { $in: [...names] }, ...isFree, $or: [isDue, ...isAwaited] },
        [{ $set: attempt }],
        { sort: { priority: -1, runAt: 1 }, returnDocument: 'after' },
      ),
    ) as Promise<ClaimedJob | null>
  }

  /** Extends the lease of an attempt. Resolves to whether it still holds it. */
  async extend({ _id, lease }: ClaimedJob, leaseMs: number): Promise<boolean> {
    const collection = await this.open()
    const update = [{ $set: { runAt: toTime(leaseMs) } }]
    const { matchedCount } = await callDatabase(() => collection.updateOne({ _id, lease }, update))
    return matchedCount === 1
  }

  /** Removes a job that has succeeded. Resolves to whether the attempt held its lease. */
  async remove({ _id, lease }: ClaimedJob): Promise<boolean> {
    const collection = await this.open()
    const { deletedCount } = await callDatabase(() => collection.deleteOne({ _id, lease }))
    return deletedCount === 1
  }

  /** Ends an attempt as if it had not begun. Resolves to whether it held its lease. */
  release(job: ClaimedJob, due: Date = job.dueAt): Promise<boolean> {
    return this.end(job, { attempts: job.attempts - 1, due })
  }

  /** Changes when the waiting jobs of a group are due that are due at a date, or before one. */
  async reschedule(group: string, runAt: Date | { $lt: Date }, due: Date | number): Promise<void> {
    const collection = await this.open()
    const waiting = { group, state: 'open', lease: null, runAt } as const
    const update = [{ $set: { runAt: toTime(due) } }]
    await callDatabase(() => collection.updateMany(waiting, update))
  }

  /** Ends an attempt whose job remains. Resolves to whether the attempt held its lease. */
  async end({ _id, lease }: ClaimedJob, { due, ...changes }: AttemptEnd): Promise<boolean> {
    const collection = await this.open()
    const literal = Object.entries(changes).map(([name, value]) => [name, { $literal: value }])
    const update = [{ $set: { lease: null, runAt: toTime(due), ...Object.fromEntries(literal) } }]
    const { matchedCount } = await callDatabase(() => collection.updateOne({ _id, lease }, update))
    return matchedCount === 1
  }
}

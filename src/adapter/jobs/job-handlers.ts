import { ArgumentError } from '../../core/errors/setup-errors.ts'
import type { OptionRule, OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import { hasMethod, isObject } from '../../core/value-kind.ts'
import { MAX_TIMER_MS } from '../connection/connect-mongodb.ts'

/** A running attempt of a job, in the params of its handler and of the calls that get these params. */
export interface Job {
  /** The id of the job, the same in each attempt: an idempotency key for calls of other systems. */
  readonly id: string
  /** The name of its handler. */
  readonly name: string
  /** 1 in the first attempt. */
  readonly attempt: number
  /** When it was due. */
  readonly dueAt: Date
  /** Aborts if the attempt takes too long, has lost the job to another process, or the application closes. */
  readonly signal: AbortSignal
}

/** The params of a handler. */
export interface JobParams extends Params {
  /** The attempt that runs. */
  readonly job: Job
}

/**
 * Runs a job. `params` have no provider, so that calls with them are internal. It may run again after it has succeeded,
 * if its process ends before this is stored: use `params.job.id` to do things once.
 */
export type JobFunction<Data> = (data: Data, params: JobParams) => unknown

/** What a handler throws to run again: a failure that is no fault of the application, and is logged as information. */
export class RetryLater extends Error {
  /** Written out, because bundlers rename the class. */
  override readonly name: string = 'RetryLater'
}

/** What a handler throws to run again at a date, as if this attempt had not begun. */
export class Postponed extends Error {
  readonly due: Date

  constructor(due: Date) {
    super(`Postponed until ${due.toISOString()}`)
    this.due = due
  }
}

/** Gives the times of a schedule: an object `new Cron('0 3 * * *')` of the package `croner`, or one like it. */
export interface Recurrence {
  /** Returns the first time after another one, `null` for none. */
  nextRun(after: Date): Date | null
}

/** How a job is run. */
export interface JobHandler<Data> {
  /** Runs the job. */
  readonly run: JobFunction<Data>
  /** How often a job is tried before it is dead. Default: 10. */
  readonly attempts?: number
  /**
   * How long to wait after a failure, in ms, by the number of the attempt. Default: 1 s, which doubles with each
   * failure, up to an hour.
   */
  readonly backoffMs?: (attempt: number) => number
  /** How long an attempt may take, in ms. Default: 300,000. */
  readonly timeoutMs?: number
  /** How many jobs of this name a process runs at the same time. Default: as many as it runs of all. */
  readonly concurrency?: number
  /**
   * When to run it without being enqueued: every so many ms, or at the times of an object such as
   * `new Cron('0 3 * * *')`. It runs once over all processes, with the data `null`. Times missed because a run takes
   * longer, or because no process is running, are combined into one run. Default: never.
   */
  readonly schedule?: number | Recurrence
}

/** The rule for options that are times of timers. */
export const TIMER_MS: OptionRule = {
  expected: `a whole number of ms from 1 to ${MAX_TIMER_MS}`,
  isValid: (value) => OPTION.positiveInteger.isValid(value) && Number(value) <= MAX_TIMER_MS,
}

const RULES: OptionRules = {
  run: OPTION.function,
  attempts: OPTION.positiveInteger,
  backoffMs: OPTION.function,
  timeoutMs: TIMER_MS,
  concurrency: OPTION.positiveInteger,
  schedule: {
    expected: 'a number of ms from 1 on, or an object with a method nextRun()',
    isValid: (value) =>
      OPTION.positiveInteger.isValid(value) || (isObject(value) && hasMethod(value, 'nextRun')),
  },
}

const DEFAULTS = {
  attempts: 10,
  timeoutMs: 300_000,
  concurrency: Number.POSITIVE_INFINITY,
  backoffMs: (attempt: number) => Math.min(1_000 * 2 ** (attempt - 1), 3_600_000),
}

/** A handler with its defaults. */
export interface ResolvedHandler extends Omit<Required<JobHandler<unknown>>, 'schedule'> {
  /** `null` for a handler without schedule. */
  readonly schedule: Recurrence | null
}

/** @throws {TypeError} the handler of a name is invalid, or one of its options is unknown */
export function resolveHandler(name: string, handler: unknown): ResolvedHandler {
  const owner = `jobs(): the handler '${name}'`
  // It is a part of a path.
  if (!/^[\w.-]+$/.test(name))
    throw new ArgumentError(`${owner} needs a name of letters, digits and -_.`)
  const given = typeof handler === 'function' ? { run: handler } : handler
  checkOptions(owner, given, RULES)
  const { run, schedule, ...options } = given as Partial<JobHandler<unknown>>
  if (run === undefined) throw new ArgumentError(`${owner} needs a function 'run'`)
  return {
    ...withDefaults(DEFAULTS, options),
    run,
    schedule: typeof schedule === 'number' ? every(schedule) : (schedule ?? null),
  }
}

/** Returns times that are the same for all processes: multiples of an interval. */
function every(ms: number): Recurrence {
  return { nextRun: (after) => new Date((Math.floor(after.getTime() / ms) + 1) * ms) }
}

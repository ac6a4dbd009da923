import type { ClientSession, Collection } from 'mongodb'
import type { AnyApplication, Application } from '../../core/app.ts'
import { ArgumentError, OptionError } from '../../core/errors/setup-errors.ts'
import { afterCommit } from '../../core/events/event-gate.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import type { Params } from '../../core/params.ts'
import { isModel, MODEL_EXPECTED } from '../connection/model.ts'
import type { MongoDBSettings } from '../mongodb-options.ts'
import type { MongoDBParams } from '../mongodb-params.ts'
import { getGivenOptions } from '../mongodb-params.ts'
import { MongoDBService } from '../mongodb-service.ts'
import { joinTransaction } from '../transactions/transaction-attempt.ts'
import type { Job, JobFunction, JobHandler, JobParams, ResolvedHandler } from './job-handlers.ts'
import { resolveHandler, TIMER_MS } from './job-handlers.ts'
import type { JobRecord } from './job-store.ts'
import { JOB_INDEXES, JobStore } from './job-store.ts'
import type { JobCounts } from './job-worker.ts'
import { JobWorker } from './job-worker.ts'

/**
 * The data of the jobs of an application, by their names. Declare it once:
 * `declare module 'remex/jobs' { interface JobData { 'send-email': { to: string } } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add to it
export interface JobData {}

/** The names of jobs: any string if none are declared. */
export type JobName = keyof JobData extends never ? string : keyof JobData & string

/** The data of a job: what BSON can hold. */
export type DataOf<Name extends string> = Name extends keyof JobData ? JobData[Name] : unknown

/** Options of {@link jobs}. */
export interface JobsOptions {
  /** The collection of the jobs, as in the option `Model` of a service. */
  readonly collection: MongoDBSettings['Model']
  /** What runs the jobs, by their names: a function, or an object with options. Default: what plug-ins add. */
  readonly handlers?:
    | { readonly [Name in JobName]?: JobFunction<DataOf<Name>> | JobHandler<DataOf<Name>> }
    | undefined
  /**
   * Whether this process runs jobs once it is set up. Default: `true`. A process with `false` only enqueues them; tests
   * run them by `app.jobs.run()`.
   */
  readonly start?: boolean
  /** How many jobs this process runs at the same time. Default: 10. */
  readonly concurrency?: number
  /** How often to look for jobs that other processes have enqueued or that have become due, in ms. Default: 1,000. */
  readonly pollMs?: number
  /**
   * How long other processes wait before they take over the jobs of a process that has died, in ms. A process that
   * lives extends this time. Default: 60,000.
   */
  readonly leaseMs?: number
  /** How long `app.close()` waits for running jobs, in ms, before their signals abort. Default: 10,000. */
  readonly drainMs?: number
}

const RULES: OptionRules = {
  collection: { expected: MODEL_EXPECTED, isValid: isModel },
  handlers: OPTION.object,
  start: OPTION.boolean,
  concurrency: OPTION.positiveInteger,
  pollMs: TIMER_MS,
  leaseMs: TIMER_MS,
  drainMs: {
    expected: `0, or ${TIMER_MS.expected}`,
    isValid: (ms) => ms === 0 || TIMER_MS.isValid(ms),
  },
}

type Resolved = Required<JobsOptions>

const DEFAULTS: Partial<Resolved> = {
  handlers: {},
  start: true,
  concurrency: 10,
  pollMs: 1_000,
  leaseMs: 60_000,
  drainMs: 10_000,
}

/** Options of `app.jobs.enqueue()`. */
export interface EnqueueOptions {
  /** When the job is due: a date, or a delay in ms by the clock of the database. Default: now. */
  readonly due?: Date | number
  /** While a job of the same name and key waits, no other one is stored. */
  readonly key?: string
  /** Jobs of a higher priority run first. Default: 0. */
  readonly priority?: number
  /** The params of the call that enqueues, for their request id and their session. */
  readonly params?: MongoDBParams
}

const ENQUEUE_RULES: OptionRules = {
  due: {
    expected: 'a date, or a number of ms from 0 on',
    isValid: (due) =>
      due instanceof Date ? !Number.isNaN(due.getTime()) : OPTION.count.isValid(due),
  },
  key: OPTION.string,
  priority: { expected: 'a whole number', isValid: Number.isSafeInteger },
  params: OPTION.object,
}

/** The path of the jobs, and of the handlers below it. */
const PATH = 'jobs'

const PAGES = { default: 100, max: 1_000 }

/** No method is external, and no event is sent. */
const INTERNAL = { methods: [], serviceEvents: [] }

/** Services whose types the application does not declare. */
type Internal = Application<Record<string, { create(data: unknown, params?: Params): unknown }>>

/**
 * Runs background jobs and schedules on a collection of MongoDB, over all processes of an application:
 * `app.configure(jobs({ collection, handlers: { 'send-email': async ({ to }) => { … } } }))`. The jobs are the records of
 * the service `jobs`, and each handler is `create` of a service `jobs/<name>`, so that hooks, traces and metrics see it.
 * No method of them is external.
 * @throws {TypeError} an option is missing, unknown or invalid
 */
export function jobs(options: JobsOptions): (app: AnyApplication) => void {
  const configure = createConfigurator('jobs', options, (given: AnyApplication) => {
    const app = given as unknown as Internal
    const { handlers, ...resolved } = withDefaults(DEFAULTS as Resolved, options)
    const service = new JobService(app, resolved)
    app.use(PATH, service, INTERNAL)
    Object.defineProperty(app, 'jobs', { value: service })
    for (const [name, handler] of Object.entries(handlers ?? {})) {
      if (handler !== undefined) service.handle(name, handler)
    }
    app.hooks({
      setup: [
        async (_context: unknown, next: () => Promise<void>) => {
          await next()
          await service.start()
        },
      ],
      teardown: [
        async (_context: unknown, next: () => Promise<void>) => {
          await service.stop()
          await next()
        },
      ],
    })
  })
  checkOptions('jobs()', options, RULES)
  if (options.collection === undefined) {
    throw new OptionError("jobs(): the option 'collection' is required")
  }
  return configure
}

/** The jobs of an application, as `app.jobs`. */
export class JobService extends MongoDBService<JobRecord> {
  /** @internal */
  readonly handlers: Map<string, ResolvedHandler> = new Map()
  /** @internal How many jobs this process runs at the same time. */
  readonly concurrency: number
  readonly #app: Internal
  readonly #isStarted: boolean
  readonly #jobs: JobStore
  readonly #worker: JobWorker

  /** @internal */
  constructor(app: Internal, { collection, start, ...options }: Omit<Resolved, 'handlers'>) {
    super({ Model: collection, indexes: JOB_INDEXES, paginate: PAGES })
    this.#app = app
    this.concurrency = options.concurrency
    this.#isStarted = start
    this.#jobs = new JobStore(
      async () => (await this.getModel()) as unknown as Collection<JobRecord>,
    )
    this.#worker = new JobWorker({
      ...{ app, store: this.#jobs, handlers: this.handlers, options },
      call: async (name, data, params) => app.service(`${PATH}/${name}`).create(data, params),
    })
  }

  /**
   * Adds a handler before the application is set up: for plug-ins that run jobs.
   * @throws {TypeError} the handler is invalid, or there is one of this name
   */
  handle<Data>(name: string, handler: JobFunction<Data> | JobHandler<Data>): void {
    const resolved = resolveHandler(name, handler)
    const { run } = resolved
    const create = async (data: unknown, params?: Params) => run(data, params as JobParams)
    this.#app.use(`${PATH}/${name}`, { create }, INTERNAL)
    this.handlers.set(name, resolved)
  }

  /**
   * Stores a job. Within `transaction()`, it is part of the transaction. Resolves to its id, or to that of a waiting
   * job that has the same key.
   * @throws {TypeError} there is no handler of this name, or an option is unknown or invalid
   * @throws {ServiceError} the database has rejected it
   */
  async enqueue<Name extends JobName>(
    name: Name,
    data: DataOf<Name>,
    options: EnqueueOptions = {},
  ): Promise<string> {
    checkOptions(`enqueue('${name}')`, options, ENQUEUE_RULES)
    if (!this.handlers.has(name)) throw new ArgumentError(`jobs(): there is no handler '${name}'`)
    const { due = 0, key, priority = 0, params } = options
    const job = {
      ...{ name, data, priority, due },
      ...(key === undefined ? {} : { key }),
      ...(params?.requestId === undefined ? {} : { requestId: params.requestId }),
    }
    const { _id } = await this.#store(params, (session) => this.#jobs.add(job, session))
    return String(_id)
  }

  /** @internal Stores many jobs at once, which are due now. Their keys must be new. */
  async enqueueAll(
    name: string,
    added: readonly { readonly data: unknown; readonly key: string; readonly group: string }[],
    { params, priority }: { readonly params: MongoDBParams; readonly priority: number },
  ): Promise<void> {
    const { requestId } = params
    const shared = { name, priority, ...(requestId === undefined ? {} : { requestId }) }
    const list = added.map((one) => ({ ...one, ...shared }))
    await this.#store(params, (session) => this.#jobs.addAll(list, session))
  }

  /** @internal Changes when the waiting jobs of a group are due that are due at a date, or before one. */
  async reschedule(group: string, runAt: Date | { $lt: Date }, due: Date | number): Promise<void> {
    await this.#jobs.reschedule(group, runAt, due)
  }

  /** Stores jobs in the session of the params, or in the transaction that runs, and then runs them. */
  async #store<R>(
    params: MongoDBParams | undefined,
    add: (session: ClientSession | undefined) => Promise<R>,
  ): Promise<R> {
    const driver = { ...getGivenOptions(params) }
    const transaction = joinTransaction(await this.getModel(), driver)
    const run = (): Promise<R> => add(driver.session)
    // The commands of a transaction run one after the other.
    const result = await (transaction === undefined ? run() : transaction.runNext(run))
    const wake = (): void => this.#worker.wake()
    if (!afterCommit(wake)) wake()
    return result
  }

  /**
   * Runs the jobs that are due, one after the other, and those that they enqueue: for tests. Resolves to how many
   * attempts have succeeded and failed.
   * @param options `at`: also runs waiting jobs that become due by this date
   */
  async run(options: { readonly at?: Date } = {}): Promise<JobCounts> {
    return this.#worker.runDue(options.at)
  }

  /** @internal */
  async start(): Promise<void> {
    for (const [name, { schedule }] of this.handlers) {
      const next = schedule?.nextRun(await this.#jobs.readTime())
      if (next != null) await this.#jobs.arm(name, next)
    }
    if (this.#isStarted) this.#worker.start()
  }

  /** @internal */
  async stop(): Promise<void> {
    await this.#worker.stop()
  }
}

declare module '../../core/app.ts' {
  // The type parameters must be those of the class.
  interface Application<Services, Settings> {
    /** The jobs, once `jobs()` is configured. */
    readonly jobs: JobService
  }
}

declare module '../../core/params.ts' {
  interface Params<Q> {
    /** The job that a call belongs to. */
    job?: Job | undefined
  }
}

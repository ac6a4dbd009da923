import type {
  TransactionOptions as DriverTransactionOptions,
  MongoClient,
  ReadConcernLike,
  ReadPreferenceLike,
  WriteConcern,
} from 'mongodb'
import type { AnyApplication } from '../../core/app.ts'
import type { AroundHook } from '../../core/application-defaults.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import { TAKEN_BACK } from '../../core/hooks/hook-chain.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION } from '../../core/options/option-check.ts'
import { isObject } from '../../core/value-kind.ts'
import { HooklessService } from '../hookless-service.ts'
import { ContextSnapshot } from './context-snapshot.ts'
import type { TransactionFunction } from './run-transaction.ts'
import { runTransaction } from './run-transaction.ts'

/** Options of {@link transaction}. Those of the driver have its defaults. */
export interface TransactionOptions {
  /**
   * The client whose session the transaction has. Default: that of the service, for a hook of a
   * MongoDB service, else that of all MongoDB services of the application.
   */
  readonly client?: MongoClient | undefined
  /** What the reads of the transaction see. */
  readonly readConcern?: ReadConcernLike | undefined
  /** When the commit is confirmed. */
  readonly writeConcern?: WriteConcern | undefined
  /** Which server it reads from: `'primary'`, the default, is the only one that it can. */
  readonly readPreference?: ReadPreferenceLike | undefined
  /** How long one attempt to commit may take, in ms. */
  readonly maxCommitTimeMS?: number | undefined
}

type RunOptions = TransactionOptions & {
  /** Stops further attempts once it is aborted. */
  readonly signal?: AbortSignal | undefined
}

const RULES: OptionRules = {
  client: {
    expected: 'a MongoClient',
    isValid: (value) => isObject(value) && typeof value['startSession'] === 'function',
  },
  readConcern: {
    expected: "an object as { level: 'snapshot' }",
    isValid: isObject,
    keys: { level: OPTION.string },
  },
  writeConcern: { expected: "an object as { w: 'majority' }", isValid: isObject },
  readPreference: {
    expected: "'primary', as MongoDB reads from no other server in a transaction",
    isValid: (value) => (isObject(value) ? value['mode'] : value) === 'primary',
  },
  maxCommitTimeMS: OPTION.count,
}

const RUN_RULES: OptionRules = {
  ...RULES,
  signal: { expected: 'an AbortSignal', isValid: (value) => value instanceof AbortSignal },
}

/**
 * Resolves to what a function returns, after everything its calls have written was committed: all
 * calls of services of the same client belong to the transaction. The function runs again when the
 * database asks for it, so that it must not do anything else than such calls.
 * @throws what the function throws: nothing was written then, and no event is emitted
 * @throws {NotImplemented} the server is neither in a replica set nor in a sharded cluster
 */
export function transaction<R>(
  app: AnyApplication,
  fn: TransactionFunction<R>,
  options?: RunOptions,
): Promise<R>
/** Returns an around hook that runs the rest of the call in a transaction. */
export function transaction(options?: TransactionOptions): AroundHook
export function transaction<R>(
  target?: AnyApplication | TransactionOptions,
  fn?: TransactionFunction<R>,
  options?: RunOptions,
): Promise<R> | AroundHook {
  return fn === undefined
    ? createHook(target as TransactionOptions | undefined)
    : run(target as AnyApplication, fn, options)
}

async function run<R>(
  app: AnyApplication,
  fn: TransactionFunction<R>,
  options: RunOptions = {},
): Promise<R> {
  checkOptions('transaction()', options, RUN_RULES)
  if (typeof fn !== 'function') throw new TypeError('transaction(): needs a function')
  const { client = await findClient(app), signal, ...driver } = options
  return runTransaction({ client, driver: toDriver(driver), getSignal: () => signal }, fn)
}

function createHook(options: TransactionOptions = {}): AroundHook {
  checkOptions('transaction()', options, RULES)
  const { client: given, ...rest } = options
  const driver = toDriver(rest)
  return async (context, next) => {
    const client = given ?? (await findClientOf(context.service)) ?? (await findClient(context.app))
    const getSignal = (): AbortSignal | undefined => context.params.signal
    const snapshot = new ContextSnapshot(context)
    let isRepeated = false
    await runTransaction({ client, driver, getSignal }, async () => {
      if (isRepeated) snapshot.restore()
      isRepeated = true
      // What failed may have been the commit, after a run that has succeeded.
      await (next as (reason: typeof TAKEN_BACK) => Promise<void>)(TAKEN_BACK)
    })
  }
}

/** The driver takes `undefined` for a value. */
function toDriver(options: Omit<TransactionOptions, 'client'>): DriverTransactionOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

describeFunction(transaction, { hookFactory: 'transaction()' })

/** Resolves to the client of a service, `undefined` where it is none on a collection. */
async function findClientOf(service: object): Promise<MongoClient | undefined> {
  return service instanceof HooklessService ? (await service.getModel()).db.client : undefined
}

/**
 * Resolves to the client of all MongoDB services of an application.
 * @throws {TypeError} there is no such service, or they are of several clients; names the option
 */
async function findClient({ entries }: AnyApplication): Promise<MongoClient> {
  const found = await Promise.all([...entries.values()].map(({ service }) => findClientOf(service)))
  const [client, ...others] = new Set(found.filter((one) => one !== undefined))
  if (client !== undefined && others.length === 0) return client
  const reason =
    client === undefined
      ? 'the application has no MongoDB service'
      : `the services of the application are of ${others.length + 1} clients`
  throw new TypeError(`transaction(): the option 'client' is required, since ${reason}`)
}

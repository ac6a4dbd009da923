import type {
  TransactionOptions as DriverTransactionOptions,
  MongoClient,
  ReadConcernLike,
  ReadPreferenceLike,
  WriteConcern,
} from 'mongodb'
import type { AnyApplication } from '../../core/app.ts'
import type { AroundHook } from '../../core/application-defaults.ts'
import { ArgumentError, OptionError } from '../../core/errors/setup-errors.ts'
import { copyExternalForms, readDispatch, setDispatch } from '../../core/external-form.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import { runRest, TAKEN_BACK } from '../../core/hooks/around-hooks.ts'
import type { HookContext } from '../../core/hooks/hook-context.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { carryFacts } from '../../core/transport-facts.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { HooklessService } from '../hookless-service.ts'
import { runTransaction } from './run-transaction.ts'
import type { TransactionFunction } from './transaction-attempt.ts'
import { findTransaction } from './transaction-attempt.ts'

/** Options of {@link transaction}. Driver options keep the driver's defaults. */
export interface TransactionOptions {
  /**
   * The client that opens the session. Default: for a hook of a MongoDB service, the service's client, else
   * the one that all MongoDB services of the application share.
   */
  readonly client?: MongoClient | undefined
  /** What the reads of the transaction see. */
  readonly readConcern?: ReadConcernLike | undefined
  /** When the commit is confirmed. */
  readonly writeConcern?: WriteConcern | undefined
  /** Which server it reads from: only `'primary'` is possible, the default. */
  readonly readPreference?: ReadPreferenceLike | undefined
  /** How long one attempt to commit may take, in ms. */
  readonly maxCommitTimeMS?: number | undefined
}

type RunOptions = TransactionOptions & {
  /** Stops more attempts once it is aborted. */
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
 * Resolves to what a function returns, after the commit of everything that its calls wrote: all calls of
 * services of the same client belong to the transaction. The function runs again when the database asks for
 * it, so it must only make such calls.
 * @throws what the function throws; nothing is written then, and no event is emitted
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
  if (typeof fn !== 'function') throw new ArgumentError('transaction(): needs a function')
  const { client = await findClient(app), signal, ...driver } = options
  // The driver would treat `undefined` as a value.
  const given = withDefaults<DriverTransactionOptions>({}, driver)
  return runTransaction({ client, driver: given, getSignal: () => signal }, fn)
}

function createHook(options: TransactionOptions = {}): AroundHook {
  checkOptions('transaction()', options, RULES)
  const { client: given, ...rest } = options
  const driver = withDefaults<DriverTransactionOptions>({}, rest)
  return async (context, next) => {
    const client = given ?? (await findClientOf(context.service)) ?? (await findClient(context.app))
    const getSignal = (): AbortSignal | undefined => context.params.signal
    const restore = takeSnapshot(context)
    // Inside another transaction, the events wait for the end of that one.
    const isOwn = findTransaction(client) === undefined
    let isRepeated = false
    await runTransaction({ client, driver, getSignal }, async () => {
      if (isRepeated) restore()
      isRepeated = true
      const attempt = findTransaction(client)
      if (isOwn) attempt?.include(context as HookContext)
      // The commit may have failed, after a successful run.
      await runRest(next, [TAKEN_BACK])
    })
  }
}

describeFunction(transaction, { hookFactory: 'transaction()' })

/** Resolves to the client of a service, `undefined` if it has no collection. */
async function findClientOf(service: object): Promise<MongoClient | undefined> {
  return service instanceof HooklessService ? (await service.getModel()).db.client : undefined
}

/**
 * Resolves to the client of all MongoDB services of an application.
 * @throws {TypeError} there is no such service, or they use several clients; names the option
 */
async function findClient({ entries }: AnyApplication): Promise<MongoClient> {
  const found = await Promise.all([...entries.values()].map(({ service }) => findClientOf(service)))
  const [client, ...others] = new Set(found.filter((one) => one !== undefined))
  if (client !== undefined && others.length === 0) return client
  const reason =
    client === undefined
      ? 'the application has no MongoDB service'
      : `the services of the application are of ${others.length + 1} clients`
  throw new OptionError(`transaction(): the option 'client' is required, since ${reason}`)
}

/** Properties that are copied deeply. Others may hold objects that many calls share. */
const COPIED = { context: ['data', 'http'], params: ['query', 'pipeline'] }

/**
 * Returns a function that restores the current properties of a context and its params before the call runs
 * again, with copies of `data`, `http` and the query. Not in place: several calls may share one data object,
 * and another call may be about to write what its hooks set there.
 */
export function takeSnapshot(context: HookContext): () => void {
  const properties = copyProperties(context.toObject(), COPIED.context)
  const paramsThen = copyProperties(context.params, COPIED.params)
  return () => {
    replaceProperties(context, copyProperties(properties, COPIED.context))
    const { params: given } = context
    const params = copyProperties(paramsThen, COPIED.params)
    // Params of a transport have a class, and belong to only one call.
    if (!isPlainObject(given)) replaceProperties(given, params)
    else {
      context.params = carryFacts(given, params)
    }
  }
}

/** Returns the properties of an object, some of them as copies. */
function copyProperties(object: object, names: readonly string[]): Record<string, unknown> {
  const properties: Record<string, unknown> = { ...object }
  for (const name of names) {
    if (Object.hasOwn(properties, name)) properties[name] = copyDeep(properties[name])
  }
  return properties
}

/** Non-enumerable properties stay: a snapshot does not have them. */
function replaceProperties(object: object, properties: object): void {
  for (const name of Reflect.ownKeys(object)) {
    const isEnumerable = Object.prototype.propertyIsEnumerable.call(object, name)
    if (isEnumerable && !Object.hasOwn(properties, name)) Reflect.deleteProperty(object, name)
  }
  Object.assign(object, properties)
}

/**
 * Returns a copy of the plain objects, lists and dates in a value. Instances of other classes stay the
 * same: only they know what they are made of.
 */
function copyDeep(value: unknown): unknown {
  const copies = new Map<unknown, object>()
  const copyOf = (one: unknown): unknown => {
    const copy = copies.get(one) ?? copyShallow(one)
    if (copy !== undefined) copies.set(one, copy)
    return copy ?? one
  }
  const result = copyOf(value)
  // Includes copies added during the loop. Recursion could overflow the stack.
  for (const copy of copies.values()) {
    const properties = copy as Record<string, unknown>
    for (const name of Object.keys(copy)) properties[name] = copyOf(properties[name])
  }
  return result
}

/** Returns a shallow copy, `undefined` for values that are not copied. */
function copyShallow(value: unknown): object | undefined {
  if (value instanceof Date) return new Date(value.getTime())
  if (!Array.isArray(value) && !isPlainObject(value)) return undefined
  const copy = Array.isArray(value) ? [...value] : { ...value }
  copyExternalForms(value, copy)
  const dispatch = readDispatch(value)
  if (dispatch !== undefined) setDispatch(copy, dispatch)
  return copy
}

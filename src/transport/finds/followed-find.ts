import { StreamUnsupported } from '../../core/errors/coded-errors.ts'
import { HookError } from '../../core/errors/setup-errors.ts'
import { describeFunction, metadataOf, nameFunction } from '../../core/function-metadata.ts'
import type { Chain, HookSource } from '../../core/hooks/hook-chain.ts'
import { compileChain } from '../../core/hooks/hook-chain.ts'
import type { StoredHook } from '../../core/hooks/hook-registry.ts'
import type { MethodEntry, Params } from '../../core/index.ts'
import { HookContext } from '../../core/index.ts'
import { listFound } from '../../core/results.ts'
import { copyPlain } from '../../core/schema/plain-objects.ts'
import type { CallStart } from '../../core/services/method-entry.ts'
import { finishCall, toUnobserved } from '../../core/services/run-method.ts'
import type { TransportParams } from '../../core/transport-facts.ts'
import { carryFacts, REPEATED } from '../../core/transport-facts.ts'
import { toBody } from '../service-reply.ts'

/** Takes the place of the method in a call of the hooks of `find`. */
type Run = (context: HookContext) => unknown

/** The key of the function that replaces the method, on a context. */
const RUN: unique symbol = Symbol('remex.run')

/** The key of the params that around hooks and the method received, kept on a context for later runs. */
const HELD: unique symbol = Symbol('remex.heldParams')

/**
 * Calls of `find` for a stream: its hooks run as in any call, around something other than the method. The hooks decide
 * what the caller may read, and shape what is sent.
 */
export class FollowedFind {
  readonly method: MethodEntry
  /** The method's chain and everything derived from it: hooks may be added at any time. */
  #compiled: CompiledFind

  constructor(method: MethodEntry) {
    this.method = method
    this.#compiled = this.#compile()
  }

  /** Whether a hook may change what is sent: around and after hooks may, except those that authenticate. */
  get shapes(): boolean {
    return this.#current.shapes
  }

  /**
   * Runs the hooks. Resolves to what an external caller gets.
   * @param onSet called if a hook has set the result, so that `run` was not called
   * @throws {NotAcceptable} a hook has set the result, and there is no `onSet`
   */
  async call(context: HookContext, run: Run, onSet?: Run): Promise<unknown> {
    const { method } = this.#current
    return callHooks(method, context, run, method.start, onSet)
  }

  /** Runs the hooks around the first of several results. {@link shape} applies them to the others. */
  async begin(context: HookContext, run: Run): Promise<unknown> {
    Object.defineProperty(context, HELD, { value: new Map() })
    return this.call(context, run)
  }

  /**
   * Applies to another result what the hooks did to the first one. Runs the after hooks, and the around hooks with the
   * params that they received then. Hooks that only run before the method do not run again. Resolves to what an
   * external caller gets.
   * @param context the one that the call started with
   */
  async shape(context: HookContext, result: unknown): Promise<unknown> {
    // What a hook has stored on the context stays; the previous result does not.
    delete context.result
    context.dispatch = undefined
    context.isSurrounded = false
    // Uses the hooks that the call started with: hooks added since apply to later calls.
    const { shaping } = this.#compiled
    return callHooks(shaping, context, () => result, shaping.start)
  }

  /**
   * Resolves to one record as `find` shows it, `undefined` if a hook leaves it out.
   * @param params after the hooks, for a caller who is already authenticated
   * @param find resolves to what the method would, for the params that the hooks make this time
   * @throws {TypeError} the hooks return something other than a page or a list of it
   */
  async show(params: Params, find: (params: Params) => unknown): Promise<unknown> {
    const context = this.createContext(params)
    // Not observed as a call: it is repeated for each stream that receives the event.
    const { method } = this.#current
    const run: Run = (running) => find(running.params)
    const records = listFound(await callHooks(method, context, run, toUnobserved(method)))
    if (records !== null && records.length < 2) return records[0]
    throw new HookError(
      'The hooks of find must leave a page or a list with the records given to them',
    )
  }

  /**
   * Returns the context of a call that the server makes for an open stream.
   * @param params a copy: the method marks it as such a call
   */
  createContext(params: Params): HookContext {
    const { service } = this.method.entry
    const marked: TransportParams = params
    marked[REPEATED] = true
    return new HookContext(this.method, service, undefined, undefined, params)
  }

  get #current() {
    if (this.#compiled.of !== this.method.chain) this.#compiled = this.#compile()
    return this.#compiled
  }

  #compile(): CompiledFind {
    const { entry, chain: of } = this.method
    const { app, hooks, schemas } = entry
    const call: MethodEntry['call'] = (values) => {
      const context = values as Running
      holdParams(context, call)
      return context[RUN](context)
    }
    const registries = [app.hookRegistry, hooks].map(withHeldParams)
    const [ofApp, ofService] = registries as [FindHooks, FindHooks]
    const sources = [{ hooks: ofApp }, { hooks: ofService, schemas }]
    const chain = compileChain(sources, 'find', call)
    const hooked = { ...this.method, call, chain }
    const method = { ...hooked, start: app.support?.observe?.(hooked) ?? toUnobserved(hooked) }
    const again = registries.map((registry) => ({ hooks: selectShapingHooks(registry) }))
    const shapingChain = compileChain(again, 'find', call)
    const shapingStart = toUnobserved({ call, chain: shapingChain })
    const shaping = { ...this.method, call, chain: shapingChain, start: shapingStart }
    const shapes = again.some(({ hooks: registry }) => {
      const after = [...registry.get('after', 'all'), ...registry.get('after', 'find')]
      return after.length > 0 || registry.getAround('find').length > 0
    })
    return { of, method, shaping, shapes }
  }
}

/** The method's chain and everything derived from it. */
interface CompiledFind {
  readonly of: Chain | null
  /** The method with all its hooks. */
  readonly method: MethodEntry
  /** The method with only the hooks that shape its result. */
  readonly shaping: MethodEntry
  readonly shapes: boolean
}

type FindHooks = HookSource['hooks']

/** Runs hooks of `find` around something else. Resolves to what an external caller gets. */
async function callHooks(
  method: MethodEntry,
  context: HookContext,
  run: Run,
  start: CallStart,
  onSet: Run = refuseResult,
): Promise<unknown> {
  let hasRun = false
  const value = async (running: HookContext): Promise<unknown> => {
    const returned = await run(running)
    hasRun = true
    return returned
  }
  Object.defineProperty(context, RUN, { value, configurable: true })
  const pending = start(context)
  finishCall(method, context, pending === undefined ? context.result : await pending)
  if (!hasRun) onSet(context)
  const { dispatch, result } = context
  return toBody(dispatch === undefined ? result : dispatch)
}

/** @throws {NotAcceptable} always: a result that a hook sets cannot be streamed */
function refuseResult(): never {
  throw new StreamUnsupported('A hook of find sets the result: there is no stream')
}

/** Returns the same hooks, but around hooks that run again get the params of their first run. */
function withHeldParams(registry: FindHooks): FindHooks {
  const around = registry.getAround('find').map((hook) => {
    const held: StoredHook = function (this: object, context, next) {
      holdParams(context as Running, held)
      return hook.call(this, context, next)
    }
    return nameFunction(hook.name, describeFunction(held, metadataOf(hook)))
  })
  return { get: (type, method) => registry.get(type, method), getAround: () => around }
}

/** Returns the hooks that may change a result: not before hooks, nor around hooks that authenticate or observe. */
function selectShapingHooks(registry: FindHooks): FindHooks {
  const around = registry.getAround('find').filter((hook) => !isNeutral(hook))
  return {
    get: (type, method) => (type === 'before' ? [] : registry.get(type, method)),
    getAround: () => around,
  }
}

/** Keeps the params that a hook or the method gets in its first run. In later runs it gets a copy of these. */
function holdParams(context: Running, holder: object): void {
  const all = context[HELD]
  if (all === undefined) return
  const held = all.get(holder)
  if (held === undefined) all.set(holder, copyParams(context.params, context.params.query))
  else context.params = copyParams(held, held.query)
}

/** Returns whether a hook never changes a result: it authenticates or observes. */
function isNeutral(hook: object): boolean {
  const { strategies, changesNothing } = metadataOf(hook)
  return strategies !== undefined || changesNothing === true
}

interface Running extends HookContext {
  readonly [RUN]: Run
  readonly [HELD]?: Map<object, Params>
}

/** Returns records in the form of `find`: as a page or a list. */
export function toFindResult(
  { isPage }: { readonly isPage: boolean },
  data: readonly object[],
): unknown {
  return isPage ? { total: data.length, limit: data.length, skip: 0, data } : data
}

/**
 * Returns the records in a result of `find`.
 * @throws {NotAcceptable} its hooks return something other than a page or a list
 */
export function checkRecords(body: unknown): readonly unknown[] {
  const records = listFound(body)
  if (records !== null) return records
  throw new StreamUnsupported(
    'There is no stream: find must return a page or a list. Ask for application/json',
  )
}

/**
 * Returns a copy of params for another call, as hooks change the params that they get.
 * @param query copied for the new params
 */
export function copyParams(params: Params, query: Params['query']): Params {
  const copy: Params = { ...params, query: copyPlain(query) as Params['query'] }
  return carryFacts(params as TransportParams, copy)
}

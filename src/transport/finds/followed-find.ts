import { describeFunction, metadataOf, nameFunction } from '../../core/function-metadata.ts'
import type { Chain, HookSource } from '../../core/hooks/hook-chain.ts'
import { compileChain } from '../../core/hooks/hook-chain.ts'
import type { StoredHook } from '../../core/hooks/hook-registry.ts'
import type { MethodEntry, Params } from '../../core/index.ts'
import { HookContext, NotAcceptable } from '../../core/index.ts'
import { listFound } from '../../core/results.ts'
import { copyPlain } from '../../core/schema/plain-objects.ts'
import type { CallStart } from '../../core/services/method-entry.ts'
import { finishCall, toUnobserved } from '../../core/services/run-method.ts'
import type { TransportParams } from '../../core/transport-facts.ts'
import { carryFacts, REPEATED } from '../../core/transport-facts.ts'
import { toBody } from '../service-reply.ts'

/** What stands in the place of the method, in a call of the hooks of `find`. */
type Run = (context: HookContext) => unknown

/** Where a context keeps what stands in the place of its method. */
const RUN: unique symbol = Symbol('remex.run')

/** Where a context keeps the params that its around hooks and its method have got, for further runs. */
const HELD: unique symbol = Symbol('remex.heldParams')

/**
 * Calls of `find` for a stream: its hooks run as for any call, around something else than the method.
 * The hooks decide what the caller may read and shape what is sent.
 */
export class FollowedFind {
  readonly method: MethodEntry
  /** The chain of the method and what was made of it: hooks may be added at any time. */
  #compiled: CompiledFind

  constructor(method: MethodEntry) {
    this.method = method
    this.#compiled = this.#compile()
  }

  /** Whether a hook may change what is sent: around and after hooks may, but for those that log in. */
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

  /** Runs the hooks around the first of several results. {@link shape} has them make the further ones. */
  async begin(context: HookContext, run: Run): Promise<unknown> {
    Object.defineProperty(context, HELD, { value: new Map() })
    return this.call(context, run)
  }

  /**
   * Has the hooks make of a further result what they have made of the first one: after hooks, and around hooks,
   * which get the params that they have got then. What only comes before the method does not run again.
   * Resolves to what a caller outside gets.
   * @param context the one that the call has begun with
   */
  async shape(context: HookContext, result: unknown): Promise<unknown> {
    // What a hook has noted on the context stays; what belongs to the result before does not.
    delete context.result
    context.dispatch = undefined
    context.isSurrounded = false
    // The hooks that the call has begun with: those that are added meanwhile are for later calls.
    const { shaping } = this.#compiled
    return callHooks(shaping, context, () => result, shaping.start)
  }

  /**
   * Resolves to one record as `find` shows it, `undefined` where a hook leaves it out.
   * @param params those that the hooks have made for this caller: who it is has been proven
   * @param find resolves to what the method would, for the params that the hooks make this time
   * @throws {TypeError} the hooks make something else than a page or a list of it
   */
  async show(params: Params, find: (params: Params) => unknown): Promise<unknown> {
    const context = this.createContext(params)
    // Not a call of anybody: it is repeated for each stream that hears of an event.
    const { method } = this.#current
    const run: Run = (running) => find(running.params)
    const records = listFound(await callHooks(method, context, run, toUnobserved(method)))
    if (records !== null && records.length < 2) return records[0]
    throw new TypeError(
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

/** The chain of the method and what was made of it. */
interface CompiledFind {
  readonly of: Chain | null
  /** The method, with all its hooks. */
  readonly method: MethodEntry
  /** The method with the hooks that make its result. */
  readonly shaping: MethodEntry
  readonly shapes: boolean
}

type FindHooks = HookSource['hooks']

/** Runs hooks of `find` around something else. Resolves to what a caller outside gets. */
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

/** @throws {NotAcceptable} always: what a hook returns in place of the method cannot be streamed */
function refuseResult(): never {
  throw new NotAcceptable('A hook of find sets the result: there is no stream')
}

/** Returns the same hooks. Around hooks that run again get the params of their first run. */
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

/**
 * Returns the hooks that may change a result. Before hooks do not, nor do around hooks that log callers in or
 * observe.
 */
function selectShapingHooks(registry: FindHooks): FindHooks {
  const around = registry.getAround('find').filter((hook) => !isNeutral(hook))
  return {
    get: (type, method) => (type === 'before' ? [] : registry.get(type, method)),
    getAround: () => around,
  }
}

/**
 * Keeps the params that a hook, or the method, gets in its first run. When it runs again, it gets a copy of
 * these.
 */
function holdParams(context: Running, holder: object): void {
  const all = context[HELD]
  if (all === undefined) return
  const held = all.get(holder)
  if (held === undefined) all.set(holder, copyParams(context.params, context.params.query))
  else context.params = copyParams(held, held.query)
}

/** Whether a hook changes nothing of a result: it logs callers in, or observes. */
function isNeutral(hook: object): boolean {
  const { strategies, changesNothing } = metadataOf(hook)
  return strategies !== undefined || changesNothing === true
}

interface Running extends HookContext {
  readonly [RUN]: Run
  readonly [HELD]?: Map<object, Params>
}

/** Returns records in the form that `find` answers in: as a page, or as a list. */
export function toFindResult(
  { isPage }: { readonly isPage: boolean },
  data: readonly object[],
): unknown {
  return isPage ? { total: data.length, limit: data.length, skip: 0, data } : data
}

/**
 * Returns the records of what `find` answers with.
 * @throws {NotAcceptable} its hooks make something else than a page or a list of them
 */
export function checkRecords(body: unknown): readonly unknown[] {
  const records = listFound(body)
  if (records !== null) return records
  throw new NotAcceptable(
    'There is no stream: find must return a page or a list. Ask for application/json',
  )
}

/**
 * Returns params for one more call: hooks change those that they get.
 * @param query the query that they get a copy of
 */
export function copyParams(params: Params, query: Params['query']): Params {
  const copy: Params = { ...params, query: copyPlain(query) as Params['query'] }
  return carryFacts(params as TransportParams, copy)
}

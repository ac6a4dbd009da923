import { noteExternalForm } from './external-form.ts'
import type { CalledMethod } from './hook-context.ts'
import { HookContext } from './hook-context.ts'
import type { MethodEntry } from './method-entry.ts'
import type { MethodSpec } from './method-table.ts'
import type { MethodCall } from './run-hooks.ts'
import { emitServiceEvent } from './service-events.ts'

type ServiceFunction = (...args: unknown[]) => unknown

/** How the arguments of a context are handed to the method, by the row of the method table. */
const INVOKE: Readonly<Record<string, (fn: ServiceFunction, context: HookContext) => unknown>> = {
  params: (fn, context) => fn.call(context.self, context.params),
  'id params': (fn, context) => fn.call(context.self, context.id, context.params),
  'data params': (fn, context) => fn.call(context.self, context.data, context.params),
  'id data params': (fn, context) =>
    fn.call(context.self, context.id, context.data, context.params),
}

/** Returns the call of a method with the arguments of a context. */
export function createMethodCall(spec: MethodSpec, original: ServiceFunction): MethodCall {
  const invoke = INVOKE[spec.arguments.join(' ')]
  if (invoke === undefined) throw new TypeError(`No way to pass (${spec.arguments.join(', ')})`)
  return (context) => invoke(original, context)
}

/**
 * Returns the context of a call with the given arguments, in the order of the method table.
 * `params` becomes `{}` when it is missing.
 */
export function createContext<A>(
  method: CalledMethod<A>,
  self: object,
  args: readonly unknown[],
): HookContext<object, string, A> {
  const { withId, arguments: names } = method.spec
  const id = withId ? args[0] : undefined
  const dataIndex = withId ? 1 : 0
  const data = names[dataIndex] === 'data' ? args[dataIndex] : undefined
  return new HookContext(method, self, id, data, args[names.length - 1])
}

/** Runs hooks, method and events. Resolves to `context.result`; the rest stands in the context. */
export function runMethod(method: MethodEntry, context: HookContext): Promise<unknown> {
  const { chain, entry } = method
  const finish = (): unknown => {
    emitServiceEvent(entry, context)
    if (context.dispatch !== undefined) noteExternalForm(context.result)
    return context.result
  }
  try {
    if (chain !== null) return chain(context).then(finish)
    if ('result' in context) return Promise.resolve(finish())
    return Promise.resolve(method.call(context)).then((result) => {
      context.result = result as typeof context.result
      return finish()
    })
  } catch (error) {
    return Promise.reject(error)
  }
}

/**
 * Calls a method as `service.method(...args)` does and returns its result. A context of this method
 * as the last argument is used for the call, which then resolves to the context; the arguments before
 * it take the places of those in the context.
 */
export function callMethod(method: MethodEntry, self: object, args: unknown[]): Promise<unknown> {
  const last = args.at(-1)
  if (last instanceof HookContext && last.isFor(method)) {
    if (args.length > 1) last.arguments = args.slice(0, -1)
    return runMethod(method, last).then(() => last)
  }
  if (method.chain === null && method.spec.event === null) return callDirectly(method, self, args)
  return runMethod(method, createContext(method, self, args))
}

/** Without hooks and events there is nothing that a context could tell. */
function callDirectly(method: MethodEntry, self: object, args: unknown[]): Promise<unknown> {
  const paramsIndex = method.spec.arguments.length - 1
  try {
    const params = args[paramsIndex] || {}
    const returned =
      paramsIndex === 0
        ? method.original.call(self, params)
        : paramsIndex === 1
          ? method.original.call(self, args[0], params)
          : method.original.call(self, args[0], args[1], params)
    return returned instanceof Promise ? returned : Promise.resolve(returned)
  } catch (error) {
    return Promise.reject(error)
  }
}

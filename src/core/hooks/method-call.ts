import { addNotes, RECORD_NOTES } from '../external-form.ts'
import type { MethodSpec } from '../method-table.ts'
import { toMethodSpec } from '../method-table.ts'
import { isPromise } from '../value-kind.ts'
import type { HookContext } from './hook-context.ts'

/** What a method is called on and with. A {@link HookContext} has all of it. */
interface CallArguments {
  readonly self: object
  readonly id: unknown
  readonly data: unknown
  readonly params: unknown
}

/** Calls the function of a service with those arguments that its method takes. */
export type MethodCall = (values: CallArguments) => unknown

type ServiceFunction = (...args: unknown[]) => unknown

/** What calls a function, by the order of its arguments in the row of the method table. */
const CALLS = {
  params: (fn: ServiceFunction) => (call: CallArguments) => fn.call(call.self, call.params),
  'id params': (fn: ServiceFunction) => (call: CallArguments) =>
    fn.call(call.self, call.id, call.params),
  'data params': (fn: ServiceFunction) => (call: CallArguments) =>
    fn.call(call.self, call.data, call.params),
  'id data params': (fn: ServiceFunction) => (call: CallArguments) =>
    fn.call(call.self, call.id, call.data, call.params),
}

/** Returns the call of a method by its row of the method table. */
export function createMethodCall(spec: MethodSpec, original: ServiceFunction): MethodCall {
  const create = CALLS[spec.arguments.join(' ') as keyof typeof CALLS]
  return create(original)
}

/**
 * Returns the arguments of a call by their names; they are given in the order of the method table.
 * `params` becomes `{}` when it is missing.
 * @throws {TypeError} the data is a promise
 */
export function readArguments(
  spec: MethodSpec,
  self: object,
  args: readonly unknown[],
): CallArguments {
  const { withId, arguments: names } = spec
  const dataIndex = withId ? 1 : 0
  const data = names[dataIndex] === 'data' ? args[dataIndex] : undefined
  // Some hooks would await it and others not: a record could be stored that no hook has seen.
  if (isPromise(data)) throw new TypeError('The data is a promise: await it first')
  return {
    self,
    id: withId ? args[0] : undefined,
    data,
    params: args[names.length - 1] || {},
  }
}

/**
 * Calls the method, unless `context.result` is there. What it returns at once becomes the result; a
 * promise is returned instead, for the caller to await and set, since a promise more for each call
 * costs as much as many hooks.
 */
export function startMethod(
  call: MethodCall,
  context: HookContext,
): PromiseLike<unknown> | undefined {
  if ('result' in context) return undefined
  const returned = call(context)
  if (isPromise(returned)) return returned
  setReturned(context, returned)
  return undefined
}

/**
 * Notes the event that the result of a method stands for, in the place of the method's own: `created`
 * for a record that an update has added, `null` for a result that is no record.
 */
export function noteEvent(result: object, event: string | null): void {
  addNotes(result, { event })
}

/** Notes for a result what is noted for another one that it was made of. Returns it. */
export function copyEventNote<R extends object>(from: object, to: R): R {
  const event = RECORD_NOTES.get(from)?.event
  if (event !== undefined) addNotes(to, { event })
  return to
}

/** Sets what a method has returned as the result of a call, with the event that it stands for. */
export function setReturned(context: HookContext, returned: unknown): void {
  context.result = returned as HookContext['result']
  const { event } = context
  // A method without an event only hands on what another one has written.
  const noted = event === null ? undefined : RECORD_NOTES.get(returned as object)?.event
  // An event that a hook has chosen stays.
  if (noted !== undefined && event === toMethodSpec(context.method).event) context.event = noted
}

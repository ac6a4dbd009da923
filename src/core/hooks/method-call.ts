import { ArgumentError } from '../errors/setup-errors.ts'
import { addNotes, RECORD_NOTES } from '../external-form.ts'
import type { MethodSpec } from '../method-table.ts'
import { toMethodSpec } from '../method-table.ts'
import { isPromise } from '../value-kind.ts'
import type { HookContext } from './hook-context.ts'

/** The object and the arguments of a call. A {@link HookContext} has them all. */
interface CallArguments {
  readonly self: object
  readonly id: unknown
  readonly data: unknown
  readonly params: unknown
}

/** Calls the function of a service with the arguments that its method takes. */
export type MethodCall = (values: CallArguments) => unknown

type ServiceFunction = (...args: unknown[]) => unknown

/** Functions that call a method, by the order of its arguments in the method table. */
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
  // Only some hooks would await it: a record could be stored that no hook has seen.
  if (isPromise(data)) throw new ArgumentError('The data is a promise: await it first')
  return {
    self,
    id: withId ? args[0] : undefined,
    data,
    params: args[names.length - 1] || {},
  }
}

/**
 * Calls the method, unless `context.result` is set. A value that it returns at once becomes the result; a
 * promise is returned for the caller to await and set, since an additional promise per call costs as much as
 * many hooks.
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
 * Sets the event of a method's result, instead of the method's own: `created` for a record that an update
 * added, `null` for a result that is not a record.
 */
export function noteEvent(result: object, event: string | null): void {
  addNotes(result, { event })
}

/** Copies the event note of a result to one made from it. Returns the new result. */
export function copyEventNote<R extends object>(from: object, to: R): R {
  const event = RECORD_NOTES.get(from)?.event
  if (event !== undefined) addNotes(to, { event })
  return to
}

/** Sets what a method has returned as the result of a call, and the event of that result. */
export function setReturned(context: HookContext, returned: unknown): void {
  context.result = returned as HookContext['result']
  const { event } = context
  // A method without an event only passes on what another one has written.
  const noted = event === null ? undefined : RECORD_NOTES.get(returned as object)?.event
  // An event that a hook has chosen stays.
  if (noted !== undefined && event === toMethodSpec(context.method).event) context.event = noted
}

import { findFactoryCall } from './hook-factory.ts'
import { isPromise } from './value-kind.ts'

/**
 * Completes the sentence `A hook is …` about what stands in the place of a hook and is none: a promise
 * of one, or the function that returns it. `undefined` for everything else.
 */
export function describeHook(value: unknown): string | undefined {
  if (value === undefined) {
    return 'undefined, not a function: nothing is imported or returned there'
  }
  if (isPromise(value)) return 'a promise, await it first'
  const call = typeof value === 'function' ? findFactoryCall(value) : undefined
  if (call === undefined) return undefined
  return `the function ${call.slice(0, call.indexOf('('))}, which returns a hook: write ${call}`
}

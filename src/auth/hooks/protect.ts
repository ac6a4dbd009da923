import { describeFunction } from '../../core/function-metadata.ts'
import type { ExternalForm } from '../../core/index.ts'
import { addExternalForm } from '../../core/index.ts'
import { isObject, isStringList } from '../../core/value-kind.ts'
import { getPlainForm, omitFields } from '../field-path.ts'
import type { HookCall } from './hook-call.ts'

/** A hook for after or around: what `protect` returns. */
export type ProtectHook = (
  context: HookCall,
  next?: () => Promise<void>,
) => Promise<void> | undefined

/**
 * Returns an after or around hook that keeps fields from callers outside, at any depth
 * (`'profile.token'`) and in arrays. It sets `context.dispatch`; for external calls the result, and
 * with it the data of events, loses the fields too. A record that calls inside the process get has
 * all fields, and loses them wherever it ends up in an answer. COPIES OF IT DO NOT.
 */
export function protect(...fields: string[]): ProtectHook {
  if (fields.length === 0) throw new TypeError('The protect hook needs at least one field')
  // As a hook itself, inside of one of another package for example, it would get the context.
  if (!isStringList(fields)) {
    throw new TypeError("The protect hook takes names of fields: protect('password')")
  }
  const omit: ExternalForm = (record) => omitFields(record, fields)
  const omitInPage: ExternalForm = (result) => {
    const page = getPlainForm(result)
    return isPage(page) ? { ...page, data: omit(page.data) } : omit(result)
  }
  const protectContext = (context: HookCall): void => {
    const { result, dispatch = result } = context
    // Only `find` returns pages: elsewhere `data` is a field like any other.
    const omitFrom = context.method === 'find' ? omitInPage : omit
    context.dispatch = omitFrom(dispatch)
    if (context.params.provider) context.result = context.dispatch
    else if (omitFrom === omitInPage && isPage(result)) addForms(result.data, omit)
    else addForms([result].flat(), omitFrom)
  }
  const hook: ProtectHook = (context, next) => {
    if (context.type === 'around' && next !== undefined) {
      return next().then(() => protectContext(context))
    }
    if (context.type !== 'after') {
      throw new TypeError('The protect hook must be used as an after or an around hook')
    }
    protectContext(context)
    return undefined
  }
  return describeFunction(hook, { refusesNobody: true })
}

function isPage(result: unknown): result is { readonly data: readonly unknown[] } {
  return isObject(result) && Array.isArray(result['data'])
}

function addForms(records: readonly unknown[], form: ExternalForm): void {
  for (const record of records) {
    if (isObject(record) && !ArrayBuffer.isView(record)) addExternalForm(record, form)
  }
}

describeFunction(protect, { hookFactory: "protect('password')" })

import { HookError } from '../../core/errors/setup-errors.ts'
import { describeFunction, nameFunction } from '../../core/function-metadata.ts'
import type { ExternalForm } from '../../core/index.ts'
import { addExternalForm, copyExternalForms } from '../../core/index.ts'
import { isPage, replaceRecords } from '../../core/results.ts'
import { isObject, isPlainObject, isStringList } from '../../core/value-kind.ts'
import type { HookCall } from './hook-call.ts'

/** An after or around hook, as returned by `protect`. */
export type ProtectHook = (
  context: HookCall,
  next?: () => Promise<void>,
) => Promise<void> | undefined

/**
 * Returns an after or around hook that hides fields from external callers, at any depth (`'profile.token'`) and in
 * arrays. It sets `context.dispatch`; in external calls the result, and with it the data of events, loses the fields
 * too. An internal call gets the record with all fields; if that same record becomes part of a response, the fields are
 * removed there. COPIES OF THE RECORD KEEP THE FIELDS.
 */
export function protect(...fields: string[]): ProtectHook {
  if (fields.length === 0) throw new HookError('The protect hook needs at least one field')
  // Passing `protect` itself as a hook, for example to a hook of another package, would call it with the context.
  if (!isStringList(fields)) {
    throw new HookError("The protect hook takes names of fields: protect('password')")
  }
  const omit: ExternalForm = (record) => omitFields(record, fields)
  const omitInFound: ExternalForm = (result) => replaceRecords('find', getPlainForm(result), omit)
  const protectContext = (context: HookCall): void => {
    const { result, dispatch = result } = context
    const omitFrom = context.method === 'find' ? omitInFound : omit
    context.dispatch = omitFrom(dispatch)
    if (context.params.provider) context.result = context.dispatch
    else if (isPage(context.method, result)) addForms(result.data, omit)
    else addForms([result].flat(), omitFrom)
  }
  const hook: ProtectHook = (context, next) => {
    if (context.type === 'around' && next !== undefined) {
      return next().then(() => protectContext(context))
    }
    if (context.type !== 'after') {
      throw new HookError('The protect hook must be used as an after or an around hook')
    }
    protectContext(context)
    return undefined
  }
  return describeFunction(nameFunction('protect', hook), {
    refusesNobody: true,
    secretFields: fields,
  })
}

function addForms(records: readonly unknown[], form: ExternalForm): void {
  for (const record of records) {
    if (isObject(record) && !ArrayBuffer.isView(record)) addExternalForm(record, form)
  }
}

/**
 * Returns a copy of a value without the fields at these paths, in each item of arrays on the way. An object with
 * `toJSON` is replaced by the result of that; the copy of an instance keeps its class. An instance that has none of the
 * fields is returned as it is.
 */
export function omitFields(value: unknown, paths: readonly string[]): unknown {
  const record = getPlainForm(value)
  if (Array.isArray(record)) return record.map((item) => omitFields(item, paths))
  if (!isObject(record)) return value
  const isPlain = isPlainObject(record)
  const isField = (path: string): boolean => Object.hasOwn(record, path.split('.', 1)[0] ?? '')
  if (!isPlain && !paths.some(isField)) return value
  const copy = { ...record }
  if (!isPlain) Object.setPrototypeOf(copy, Object.getPrototypeOf(record))
  copyExternalForms(value as object, copy)
  for (const path of paths) {
    const [key = '', ...rest] = path.split('.')
    if (!Object.hasOwn(copy, key)) continue
    if (rest.length === 0) delete copy[key]
    else copy[key] = omitFields(copy[key], [rest.join('.')])
  }
  return copy
}

/** Returns the form that a value has in JSON; bytes are returned unchanged. */
function getPlainForm(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return value
  const { toJSON } = (value ?? {}) as { toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value) : value
}

describeFunction(protect, { hookFactory: "protect('password')" })

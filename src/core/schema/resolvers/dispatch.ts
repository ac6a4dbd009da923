import { readDispatch, setDispatch } from '../../external-form.ts'
import { isObject } from '../../value-kind.ts'

/** Returns what callers outside see of a record by `resolveExternal`, `null` if that was not said. */
export function getDispatch(value: unknown): unknown {
  return (isObject(value) ? readDispatch(value) : undefined) ?? null
}

/**
 * Returns what callers outside see of a value: of a record by {@link getDispatch}, of a list item by
 * item, else the value itself.
 */
export function getDispatchValue(value: unknown): unknown {
  const dispatch = getDispatch(value)
  if (dispatch !== null) return dispatch
  return Array.isArray(value) ? value.map(getDispatchValue) : value
}

/**
 * Gives a record that was made of another one the same form outside: without the fields that
 * the other one does not show, and with those that are new.
 */
export function carryDispatch(record: object, resolved: object): void {
  const dispatch = getDispatch(record)
  if (!isObject(dispatch)) return
  const fields = Object.entries(resolved).flatMap(([name, value]) => {
    const isSame = value === Reflect.get(record, name)
    if (Object.hasOwn(dispatch, name)) return [[name, isSame ? dispatch[name] : value] as const]
    return Object.hasOwn(record, name) ? [] : [[name, value] as const]
  })
  setDispatch(resolved, Object.fromEntries(fields))
}

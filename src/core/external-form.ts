import { isObject } from './value-kind.ts'

/** Returns a copy of a record without what callers outside may not see. */
export type ExternalForm = (record: unknown) => unknown

/** What is noted of a record, or of another result of a method. */
interface RecordNotes {
  forms?: readonly ExternalForm[]
  /** What `resolveExternal` has made of a record that can't have a property. */
  dispatch?: unknown
  /** The event that a result stands for, in the place of that of its method; `null` for none. */
  event?: string | null
  /** A removed record as it was stored, where a stream or a hook asks for it. */
  stored?: object
}

/** The notes of records, which get no property for them: they may be frozen, compared or stored. */
class RecordTable extends WeakMap<object, RecordNotes> {
  /**
   * Whether any record has had an external form: until then, responses are not searched for one. The flag belongs to
   * the table and not to an application: another application of the process may send the record.
   */
  hasForms = false
}

const NOTES = /* @__PURE__ */ new RecordTable()

/** What is noted of records, for readers. A function would be one more in the path of each call. */
export const RECORD_NOTES: Pick<WeakMap<object, Readonly<RecordNotes>>, 'get'> = NOTES

const NOTHING: RecordNotes = {}

/** Where `resolveExternal` of `@feathersjs/schema` keeps how a record looks outside. */
const DISPATCH = Symbol.for('@feathersjs/schema/dispatch')

interface WithDispatch {
  readonly [DISPATCH]?: unknown
}

/** Adds to what is noted of a record. */
export function addNotes(record: object, notes: RecordNotes): void {
  NOTES.set(record, { ...NOTES.get(record), ...notes })
}

/** Sets how a record looks wherever it ends up in an answer; further forms are applied after it. */
export function addExternalForm(record: object, form: ExternalForm): void {
  const { forms = [] } = NOTES.get(record) ?? {}
  if (forms.includes(form)) return
  addNotes(record, { forms: [...forms, form] })
  NOTES.hasForms = true
  // Another `resolveExternal` would put it in the place of the record.
  const dispatch = readDispatch(record)
  if (isObject(dispatch)) addExternalForm(dispatch, form)
}

/**
 * Sets how a record looks outside by `resolveExternal`, in place of what was set before; the forms that
 * were added are applied to it. Returns it.
 */
export function setDispatch<D>(record: object, dispatch: D): D {
  NOTES.hasForms = true
  const descriptor = { value: dispatch, configurable: true }
  // A record that is frozen, or whose property another `resolveExternal` has made.
  if (!Reflect.defineProperty(record, DISPATCH, descriptor)) addNotes(record, { dispatch })
  return dispatch
}

/** Returns what was set by {@link setDispatch} or another `resolveExternal`, else `undefined`. */
export function readDispatch(record: object): unknown {
  return NOTES.get(record)?.dispatch ?? (record as WithDispatch)[DISPATCH]
}

/** Gives a copy of a record the forms that the record itself has, and how it was stored. */
export function copyExternalForms(record: object, copy: object): void {
  const { forms, stored } = NOTES.get(record) ?? NOTHING
  if (forms !== undefined) addNotes(copy, { forms })
  if (stored !== undefined) addNotes(copy, { stored })
}

/** Notes whether the result, one of its items or one of a page holds its form itself. */
export function noteExternalForm(result: unknown): void {
  const data = (result as { data?: unknown } | null | undefined)?.data ?? result
  NOTES.hasForms ||= [result, ...(Array.isArray(data) ? data : [])].some(
    (one) => isObject(one) && DISPATCH in one,
  )
}

/**
 * Returns what callers outside get to see of a value: itself if nothing in it has a form of its
 * own, else a copy in which each such record, at any depth, is replaced by that.
 */
export function toExternalForm(value: unknown): unknown {
  return NOTES.hasForms && holdsForm(value) ? replaceForms(value as object) : value
}

/** Whether a record with a form of its own is in a value, anywhere that JSON would look. */
function holdsForm(value: unknown): boolean {
  if (!isObject(value)) return false
  const { forms, dispatch = (value as WithDispatch)[DISPATCH] } = NOTES.get(value) ?? NOTHING
  if (forms !== undefined || dispatch !== undefined) return true
  if (Array.isArray(value)) return value.some(holdsForm)
  // The JSON of bytes takes time and holds no record.
  if (ArrayBuffer.isView(value)) return false
  const json = hasToJSON(value) ? value.toJSON() : value
  if (json !== value) return holdsForm(json)
  for (const key in value) if (holdsForm(value[key])) return true
  return false
}

function replaceForms(value: object): unknown {
  const form = applyForms(value)
  if (Array.isArray(form)) return form.map(toExternalForm)
  if (!isObject(form) || ArrayBuffer.isView(form)) return form
  return Object.fromEntries(
    Object.entries(form).map(([key, inner]) => [key, toExternalForm(inner)] as const),
  )
}

function applyForms(value: object): unknown {
  const seen: unknown = readDispatch(value) ?? value
  const { forms = [] } = NOTES.get(value) ?? {}
  const form = forms.reduce((record, toOuter) => toOuter(record), seen)
  return isObject(form) && hasToJSON(form) ? form.toJSON() : form
}

function hasToJSON(value: object): value is { toJSON(): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === 'function'
}

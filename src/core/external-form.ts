import { isObject } from './value-kind.ts'

/** Returns a copy of a record without what external callers may not see. */
export type ExternalForm = (record: unknown) => unknown

/** Notes about a record, or about another result of a method. */
interface RecordNotes {
  forms?: readonly ExternalForm[]
  /** The result of `resolveExternal` for a record that cannot have a property. */
  dispatch?: unknown
  /** The event of a result, instead of the event of its method; `null` for none. */
  event?: string | null
  /** A removed record as it was stored, if a stream or a hook needs it. */
  stored?: object
}

/** The notes of records. Not a property: records may be frozen, compared or stored. */
class RecordTable extends WeakMap<object, RecordNotes> {
  /**
   * Whether any record has had an external form: until then, responses are not searched for one. The flag belongs to
   * the table and not to an application: another application of the process may send the record.
   */
  hasForms = false
}

const NOTES = /* @__PURE__ */ new RecordTable()

/** The notes of records, for readers. Not a function, which would lengthen the path of each call. */
export const RECORD_NOTES: Pick<WeakMap<object, Readonly<RecordNotes>>, 'get'> = NOTES

const NOTHING: RecordNotes = {}

/** The property in which `resolveExternal` of `@feathersjs/schema` keeps the external form of a record. */
const DISPATCH = Symbol.for('@feathersjs/schema/dispatch')

interface WithDispatch {
  readonly [DISPATCH]?: unknown
}

/** Adds notes to a record. */
export function addNotes(record: object, notes: RecordNotes): void {
  NOTES.set(record, { ...NOTES.get(record), ...notes })
}

/** Sets how a record looks wherever it ends up in a response; forms added later are applied after it. */
export function addExternalForm(record: object, form: ExternalForm): void {
  const { forms = [] } = NOTES.get(record) ?? {}
  if (forms.includes(form)) return
  addNotes(record, { forms: [...forms, form] })
  NOTES.hasForms = true
  // The dispatch of another `resolveExternal` replaces the record, so it needs the form too.
  const dispatch = readDispatch(record)
  if (isObject(dispatch)) addExternalForm(dispatch, form)
}

/**
 * Sets the external form of a record, as `resolveExternal` does, replacing an earlier one. Added forms are
 * applied to it. Returns it.
 */
export function setDispatch<D>(record: object, dispatch: D): D {
  NOTES.hasForms = true
  const descriptor = { value: dispatch, configurable: true }
  // Fails for a frozen record, or if another `resolveExternal` has defined the property.
  if (!Reflect.defineProperty(record, DISPATCH, descriptor)) addNotes(record, { dispatch })
  return dispatch
}

/** Returns what was set by {@link setDispatch} or another `resolveExternal`, else `undefined`. */
export function readDispatch(record: object): unknown {
  return NOTES.get(record)?.dispatch ?? (record as WithDispatch)[DISPATCH]
}

/** Copies the external forms of a record, and its stored form, to a copy. */
export function copyExternalForms(record: object, copy: object): void {
  const { forms, stored } = NOTES.get(record) ?? NOTHING
  if (forms !== undefined) addNotes(copy, { forms })
  if (stored !== undefined) addNotes(copy, { stored })
}

/** Notes whether the result, or one of its items or page records, carries its own form. */
export function noteExternalForm(result: unknown): void {
  const data = (result as { data?: unknown } | null | undefined)?.data ?? result
  NOTES.hasForms ||= [result, ...(Array.isArray(data) ? data : [])].some(
    (one) => isObject(one) && DISPATCH in one,
  )
}

/**
 * Returns a value as external callers see it: the value itself if no record in it has an external form, else
 * a copy in which each such record, at any depth, is replaced by its form.
 */
export function toExternalForm(value: unknown): unknown {
  return NOTES.hasForms && holdsForm(value) ? replaceForms(value as object) : value
}

/** Whether a value contains a record with an external form, anywhere that JSON would look. */
function holdsForm(value: unknown): boolean {
  if (!isObject(value)) return false
  const { forms, dispatch = (value as WithDispatch)[DISPATCH] } = NOTES.get(value) ?? NOTHING
  if (forms !== undefined || dispatch !== undefined) return true
  if (Array.isArray(value)) return value.some(holdsForm)
  // The JSON of bytes takes time and contains no record.
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

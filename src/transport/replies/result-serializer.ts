import type { MethodEntry } from '../../core/index.ts'
import type { FoundPage } from '../../core/results.ts'
import { isPage } from '../../core/results.ts'
import { getOrAdd } from '../../core/schema/model/keywords.ts'
import { CURSOR_FIELDS } from '../../core/schema/queries/described-names.ts'
import type { PickOptions, ResultForm } from '../../core/schema/service/result-form.ts'
import { createResultForm, pickItems } from '../../core/schema/service/result-form.ts'
import { isObject } from '../../core/value-kind.ts'
import { hasFunctionsAfter } from '../middleware.ts'
import type { RestFeature } from '../rest-plan.ts'
import { isRead } from '../rest-plan.ts'
import type { BodySerializer } from './body.ts'

/** How the results of one method are serialized. */
interface MethodResult {
  readonly method: MethodEntry
  /** Picks the fields of one record; of the whole response if the method has a schema for that. */
  readonly form: ResultForm
  readonly isWhole: boolean
  /** The options for picking fields to write as JSON, and to pass on as objects. */
  readonly asJSON: PickOptions
  readonly asObjects: PickOptions
}

const PAGE_FIELDS: ReadonlySet<string> = new Set([
  ...['total', 'limit', 'skip', 'data'],
  ...Object.keys(CURSOR_FIELDS),
])

const OTHER_TYPES =
  'The types of a result differ from its schema; values that are not objects are sent unchanged'

const LEFT_OUT = 'A result has an object where its schema means none: it is left out'

/** The key of a service's results, by the names of its methods. */
const RESULTS: unique symbol = Symbol('remex.results')

type MethodResults = Map<string, MethodResult | null>

/**
 * Returns a function that writes the result of a method with only the fields in its schema: one record, a list, or a
 * page. `null` if no schema describes its results.
 */
function toResultSerializer(result: MethodResult | null, body: unknown): BodySerializer | null {
  if (result === null || !isObject(body)) return null
  return (payload) => {
    if (payload === body) return JSON.stringify(pickBody(body, result, result.asJSON)) ?? 'null'
    return JSON.stringify(payload, toReplacer(body, result))
  }
}

/** Writes responses with only the fields in the schema of their method. */
export const resultSchemas: RestFeature = (method) => {
  const { schemas } = method.entry
  // Functions after the service get a copy with these fields, and may respond with another body.
  if (schemas === null || hasFunctionsAfter(method.entry)) return null
  // Created for the first response, as a schema may take long to read.
  let result: MethodResult | null | undefined
  return {
    beforeSend: (call) => {
      result ??= findResult(method)
      call.serialize = toResultSerializer(result, call.body)
      return true
    },
  }
}

/** Returns one record of `find` as JSON, with the fields in its schema. */
export function writeRecord(method: MethodEntry, record: unknown): string {
  // Written as an item of a list: only then does the schema apply to a record rather than to a page.
  return writeResult(method, [record]).slice(1, -1)
}

/** Returns the result of `find` as JSON. */
export function writeResult(method: MethodEntry, body: unknown): string {
  const serialize = toResultSerializer(findResult(method), body)
  return serialize === null ? JSON.stringify(body) : serialize(body as object)
}

/** Returns the names of the fields in the schema of a method's records, `[]` if there are none. */
export function listResultFields(method: MethodEntry): readonly string[] {
  return findResult(method)?.form.fieldNames ?? []
}

/** Returns whether a method has a schema for its whole response. */
export function hasWholeSchema(method: MethodEntry): boolean {
  return findResult(method)?.isWhole ?? false
}

/** Returns a copy of a result with the fields in the schema of its method. */
export function pickResult(method: MethodEntry, body: unknown): unknown {
  const result = findResult(method)
  return result === null || !isPickable(body) ? body : pickBody(body, result, result.asObjects)
}

/** Returns whether JSON may show fields of a value; a function has some if it has `toJSON`. */
function isPickable(value: unknown): value is object {
  return isObject(value) || typeof value === 'function'
}

function findResult(method: MethodEntry): MethodResult | null {
  const { entry, name } = method
  const { attachments, schemas } = entry
  if (schemas === null) return null
  const results = getOrAdd(attachments, RESULTS, () => new Map()) as MethodResults
  return getOrAdd(results, name, () => {
    const { result, isWhole = false } = schemas.toMethodSchemas(name)
    if (result === undefined) return null
    return { method, form: createResultForm(result), isWhole, ...toPickOptions(method) }
  })
}

/** Problems with results are logged once per method. */
function toPickOptions(method: MethodEntry): Pick<MethodResult, 'asJSON' | 'asObjects'> {
  const { entry, name } = method
  const told = new Set<string>()
  const warn = (text: string, field: string): void => {
    if (told.has(text)) return
    told.add(text)
    entry.app.logger.warn({ field, path: entry.path, method: name }, text)
  }
  const asObjects: PickOptions = {
    asJSON: false,
    onOtherType: (field) => warn(OTHER_TYPES, field),
    onLeftOut: (field) => warn(LEFT_OUT, field),
  }
  // Not for writes: Node 20 gives each `{ ...data, id }` its own hidden class, and looking through its fields takes
  // longer than copying them.
  return { asObjects, asJSON: { ...asObjects, asJSON: true, keepsSame: isRead(method) } }
}

/**
 * Returns a replacer for `JSON.stringify()` that picks the fields of a body that a Fastify hook has put into another
 * one. It compares values before their `toJSON` is called, as the result of `toJSON` has all fields.
 */
function toReplacer(body: object, result: MethodResult): Replacer {
  const records = isRecordPage(body, result) ? body.data : undefined
  return function replace(this: Holder, key, value) {
    const { [key]: given } = this
    if (given === body) return pickBody(body, result, result.asJSON)
    return records !== undefined && given === records
      ? pickEach(records, result, result.asJSON)
      : value
  }
}

/** The object that holds the value being written. */
type Holder = Readonly<Record<string, unknown>>

type Replacer = (this: Holder, key: string, value: unknown) => unknown

function pickBody(body: object, result: MethodResult, options: PickOptions): unknown {
  if (Array.isArray(body)) return pickEach(body, result, options)
  if (!isRecordPage(body, result)) return result.form.pick(body, '', options)
  return pickPage(body, result, options)
}

function pickEach(
  records: readonly unknown[],
  { form }: MethodResult,
  options: PickOptions,
): readonly unknown[] {
  return pickItems(records, options, (record) =>
    isPickable(record) ? form.pick(record, '', options) : record,
  )
}

/** Returns a page with only its standard fields, unless the schema `true` allows everything. */
function pickPage(body: FoundPage, result: MethodResult, options: PickOptions): object {
  const data = pickEach(body.data, result, options)
  if (result.form.isAnything) return { ...body, data }
  if (data === body.data && isPlainPage(body)) return body
  const page: Record<string, unknown> = {}
  for (const name of Object.keys(body)) {
    if (name === 'data') page[name] = data
    else if (isPageField(body, name)) page[name] = body[name]
  }
  return page
}

/** Returns whether JSON shows only the standard fields of a page. */
function isPlainPage(body: FoundPage): boolean {
  if (Object.getPrototypeOf(body) !== Object.prototype || 'toJSON' in body) return false
  for (const name in body) if (name !== 'data' && !isPageField(body, name)) return false
  return true
}

function isPageField(body: FoundPage, name: string): boolean {
  return PAGE_FIELDS.has(name) && !isObject(body[name])
}

/**
 * Returns whether a body is a page of records. A singleton has no pages, nor does a method with a schema for the whole
 * response.
 */
function isRecordPage(body: object, { method, isWhole }: MethodResult): body is FoundPage {
  return !isWhole && !method.entry.options.singleton && isPage(method.name, body)
}

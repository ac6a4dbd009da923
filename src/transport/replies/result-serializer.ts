import type { FastifyReply } from 'fastify'
import type { MethodEntry } from '../../core/index.ts'
import type { MethodSchemas } from '../../core/services/service-schemas.ts'
import { isObject, isPlainObject } from '../../core/value-kind.ts'
import { createFits } from './fitting-record.ts'
import type { LeftOut } from './listed-fields.ts'
import { pickListed, resolveForm } from './listed-fields.ts'
import type { SerializableSchema } from './serializable-schema.ts'
import { toSerializableSchema } from './serializable-schema.ts'
import { UnnamedFields } from './unnamed-fields.ts'

/** Writes a body as JSON. */
export type BodySerializer = (body: object) => string

/** How the results of one method are written. */
interface ResultForm {
  readonly method: MethodEntry
  readonly schema: SerializableSchema
  /** Whether the schema is that of the whole answer, and not of one record. */
  readonly isWhole: boolean
  /** Fastify's serializer of one record. */
  readonly write: (record: unknown) => string
  /** Whether that writes a record with the values that it has. */
  readonly fits: (record: unknown) => boolean
  readonly unnamed: UnnamedFields | null
  /** Tells the log once that values have other types than the schema. */
  readonly onOtherTypes: (error: unknown) => void
  /** Tells the log once that an object is not sent. */
  readonly onLeftOut: LeftOut
}

/** One page of records, perhaps with what hooks have added to it. */
interface PageBody extends Record<string, unknown> {
  readonly data: readonly unknown[]
}

const PAGE_FIELDS: ReadonlySet<string> = new Set(['total', 'limit', 'skip', 'data'])

const OTHER_TYPES = 'A result has other types than its schema; what is no object is sent as it is'

const LEFT_OUT = 'A result has an object where its schema means none: it is left out'

/** The forms by method; `null` where nothing is known of its results. */
const FORMS = new WeakMap<MethodEntry, ResultForm | null>()

/**
 * Returns what writes the result of a method with the fields that its schema names alone: one record, a
 * list of them, or a page. `null` where nothing is known of its results.
 */
export function toResultSerializer(
  method: MethodEntry,
  body: unknown,
  reply: FastifyReply,
): BodySerializer | null {
  const form = toForm(method, reply)
  if (form === null || !isObject(body)) return null
  return (payload) =>
    payload === body ? writeBody(body, form) : JSON.stringify(payload, toReplacer(body, form))
}

/** Returns a copy of a result with the fields that the schema of its method names. */
export function pickResult(method: MethodEntry, body: unknown, reply: FastifyReply): unknown {
  const form = toForm(method, reply)
  return form === null || !isObject(body) ? body : pickBody(body, form)
}

function toForm(method: MethodEntry, reply: FastifyReply): ResultForm | null {
  if (method.entry.schemas === null) return null
  const known = FORMS.get(method)
  if (known !== undefined) return known
  const schemas = method.entry.schemas.toMethodSchemas(method.name)
  const form = schemas.result === undefined ? null : createForm(method, schemas, reply)
  FORMS.set(method, form)
  return form
}

function createForm(
  method: MethodEntry,
  { result = true, stored, isWhole = false }: MethodSchemas,
  reply: FastifyReply,
): ResultForm {
  const schema = toSerializableSchema(result)
  const others = stored === undefined ? [] : [toSerializableSchema(stored)]
  const unnamed = UnnamedFields.of(method, [schema, ...others])
  const write = reply.compileSerializationSchema({ ...schema }) as ResultForm['write']
  const told = new Set<string>()
  const warn = (text: string, details: object): void => {
    if (told.has(text)) return
    told.add(text)
    const { entry, name } = method
    entry.app.logger.warn({ ...details, path: entry.path, method: name }, text)
  }
  return {
    method,
    schema,
    isWhole,
    write,
    fits: createFits(schema),
    unnamed,
    onOtherTypes: (err) => warn(OTHER_TYPES, { err }),
    onLeftOut: (field) => warn(LEFT_OUT, { field }),
  }
}

function writeBody(body: object, form: ResultForm): string {
  if (Array.isArray(body)) return writeList(body, form)
  if (!isPage(body, form)) return writeRecord(body, form)
  const { data, ...envelope } = toPage(body, form)
  const others = JSON.stringify(envelope).slice(1, -1)
  return `{${others}${others === '' ? '' : ','}"data":${writeList(data, form)}}`
}

function writeList(records: readonly unknown[], form: ResultForm): string {
  let json = '['
  for (let index = 0; index < records.length; index += 1) {
    json += (index === 0 ? '' : ',') + writeRecord(records[index], form)
  }
  return `${json}]`
}

function writeRecord(record: unknown, form: ResultForm): string {
  if (!isObject(record)) return JSON.stringify(record) ?? 'null'
  const isPlain = isPlainObject(record) && record['toJSON'] === undefined
  const plain = isPlain ? record : pickListed(record, form.schema, form.onLeftOut)
  if (isPlain) form.unnamed?.lookAt(record)
  try {
    if (form.fits(plain)) return form.write(plain)
    if (isObject(plain)) form.onOtherTypes(new TypeError('A value has another type'))
  } catch (error) {
    form.onOtherTypes(error)
  }
  return JSON.stringify(isPlain ? pickListed(record, form.schema, form.onLeftOut) : plain) ?? 'null'
}

/** For a hook of Fastify that has put the body, or its records, into another one. */
function toReplacer(body: object, form: ResultForm): (key: string, value: unknown) => unknown {
  const records = isPage(body, form) ? body.data : undefined
  return (_key, value) => {
    if (value === body) return pickBody(body, form)
    return value !== undefined && value === records ? pickEach(records, form) : value
  }
}

function pickBody(body: object, form: ResultForm): unknown {
  if (Array.isArray(body)) return pickEach(body, form)
  if (isPage(body, form)) return { ...toPage(body, form), data: pickEach(body.data, form) }
  return pickListed(body, form.schema, form.onLeftOut)
}

/** Returns a page without what its own fields and the schema do not name. */
function toPage(body: PageBody, { schema, unnamed }: ResultForm): PageBody {
  const { type, anyOf } = resolveForm(schema, schema.$defs ?? {})
  // The schema `true` names everything.
  if (type === undefined && anyOf === undefined) return body
  const page = Object.entries(body).filter(([name, value]) => {
    if (PAGE_FIELDS.has(name)) return name === 'data' || !isObject(value)
    unnamed?.tellOfPage(name, value)
    return false
  })
  return Object.fromEntries(page) as PageBody
}

function pickEach(records: readonly unknown[], form: ResultForm): unknown[] {
  return records.map((record) => pickListed(record, form.schema, form.onLeftOut))
}

function isPage(body: object, { method, isWhole }: ResultForm): body is PageBody {
  if (isWhole) return false
  const { data, total } = body as { data?: unknown; total?: unknown }
  return method.name === 'find' && Array.isArray(data) && typeof total === 'number'
}

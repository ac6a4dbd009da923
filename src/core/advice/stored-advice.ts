import type { MethodCall } from '../hooks/method-call.ts'
import type { ServiceEntryFace } from '../services/method-entry.ts'
import { isObject, isPromise } from '../value-kind.ts'

/** The methods that return a record as they have stored it. */
const STORING: ReadonlySet<string> = new Set(['create', 'update', 'patch'])

/** Checks a record in the form of JSON. */
type RecordCheck = (record: unknown) => unknown

/** What of the params of a call has it return less than a whole record, or something else. */
interface ShowingParams {
  readonly provider?: unknown
  readonly query?: { readonly $select?: unknown }
  readonly pipeline?: unknown
  readonly docdb?: unknown
  readonly mongodb?: unknown
}

/**
 * Returns a function that makes the call of a method warn, once for the service, of a stored record that breaks
 * the schema of its records: a hook may have set what no check has seen. For development.
 * @param loadCheck resolves to what throws a `BadRequest` for such a record
 */
export function createStoredAdvice(
  entry: ServiceEntryFace,
  loadCheck: () => Promise<RecordCheck>,
): (method: { readonly name: string; readonly call: MethodCall }) => MethodCall {
  let isOver = false
  const look = async (method: string, text: string): Promise<void> => {
    const check = await loadCheck()
    const records: readonly unknown[] = [JSON.parse(text)].flat()
    try {
      for (const record of records) check(record)
    } catch (error) {
      if (isOver) return
      isOver = true
      warn(entry, method, (error as { readonly data?: unknown }).data)
    }
  }
  return ({ name, call }) => {
    if (!STORING.has(name)) return call
    return (values) => {
      const returned = call(values)
      if (isOver || !isPromise(returned) || !showsWhole(entry, values.params as ShowingParams)) {
        return returned
      }
      return returned.then((result) => {
        // Written at once: hooks change the result from here on. What has no JSON is no record.
        const text = toText(result)
        if (text !== undefined) void look(name, text).catch(() => undefined)
        return result
      })
    }
  }
}

/** Whether a call returns whole records. External callers do not get the fields that a service hides. */
function showsWhole({ service }: ServiceEntryFace, params: ShowingParams): boolean {
  const { provider, query, pipeline, docdb, mongodb } = params
  const { hidden } = (service as { options?: { hidden?: readonly unknown[] } }).options ?? {}
  const hidesFields = provider !== undefined && (hidden?.length ?? 0) > 0
  return (
    !hidesFields && [query?.$select, pipeline, docdb, mongodb].every((one) => one === undefined)
  )
}

function toText(result: unknown): string | undefined {
  try {
    return isObject(result) ? JSON.stringify(result) : undefined
  } catch {
    return undefined
  }
}

function warn({ app, path }: ServiceEntryFace, method: string, faults: unknown): void {
  const [first] = Array.isArray(faults) ? faults : []
  const { instancePath = '', message = 'is not valid' } = first ?? {}
  app.logger.warn(
    { service: path, method, faults },
    `A record that '${method}' of '${path}' has stored breaks the schema 'entity': the record${instancePath} ${message}. Hooks that run after the check of the data may have changed it`,
  )
}

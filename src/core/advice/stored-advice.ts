import type { MethodCall } from '../hooks/method-call.ts'
import type { ServiceEntryFace } from '../services/method-entry.ts'
import { isObject, isPromise } from '../value-kind.ts'

/** The methods that return a record as they have stored it. */
const STORING: ReadonlySet<string> = new Set(['create', 'update', 'patch'])

/** How many calls of a service are all checked; of later ones, one in this number. */
const CHECKED_CALLS = 100

/** Checks a record in its JSON form. */
type RecordCheck = (record: unknown) => unknown

/** The params that make a call return less than a whole record, or something else. */
interface ShowingParams {
  readonly provider?: unknown
  readonly query?: { readonly $select?: unknown }
  readonly pipeline?: unknown
  readonly docdb?: unknown
  readonly mongodb?: unknown
}

/**
 * Returns a function that wraps the call of a method, for development. The wrapped call logs a warning, once per
 * service, if a stored record breaks the schema `entity`: hooks that run after the check of the data may have set
 * anything. Of the calls after the first {@link CHECKED_CALLS} only one in as many is checked: development is to stay
 * fast under load.
 * @param loadCheck resolves to a check that throws a `BadRequest` for such a record
 */
export function createStoredAdvice(
  entry: ServiceEntryFace,
  loadCheck: () => Promise<RecordCheck>,
): (method: { readonly name: string; readonly call: MethodCall }) => MethodCall {
  let hasWarned = false
  let calls = 0
  /** Counts a call. Returns whether it is checked. */
  const isChecked = (): boolean => {
    calls += 1
    return calls <= CHECKED_CALLS || calls % CHECKED_CALLS === 0
  }
  const checkStored = async (method: string, text: string): Promise<void> => {
    const check = await loadCheck()
    const records: readonly unknown[] = [JSON.parse(text)].flat()
    try {
      for (const record of records) check(record)
    } catch (error) {
      if (hasWarned) return
      hasWarned = true
      warn(entry, method, (error as { readonly data?: unknown }).data)
    }
  }
  return ({ name, call }) => {
    if (!STORING.has(name)) return call
    return (values) => {
      const returned = call(values)
      const showing = values.params as ShowingParams
      if (hasWarned || !isPromise(returned) || !returnsWhole(entry, showing)) return returned
      if (!isChecked()) return returned
      return returned.then((result) => {
        // Serialized at once, because later hooks may change the result. A result without JSON is no record.
        const text = toText(result)
        if (text !== undefined) void checkStored(name, text).catch(() => undefined)
        return result
      })
    }
  }
}

/** Whether a call returns whole records. External callers do not get the fields that a service hides. */
function returnsWhole({ service }: ServiceEntryFace, params: ShowingParams): boolean {
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
    `'${method}' of '${path}' stored a record that breaks the schema 'entity': the record${instancePath} ${message}. A hook that runs after the check of the data may have changed it`,
  )
}

import { ConnectionLost, InvalidResponse } from '../../core/errors/coded-errors.ts'
import { errorFromJSON } from '../../core/errors/index.ts'
import { isObject } from '../../core/value-kind.ts'

/** The media type of records with one per line. */
export const RECORD_LINES = 'application/x-ndjson'

/** An `Accept` header that prefers an export of all records over JSON. */
export const EXPORT: RegExp = /^[^,]*(x-ndjson|\/csv)/i

/**
 * Returns the records of a response as they arrive. Leaving the loop ends the request.
 * @param open sends the request. Resolves to the body, a stream of the platform or of Node
 * @param signal with which the caller aborts the request
 * @throws {Unavailable} in the loop: the response has broken off
 * @throws the error with which the server has ended it, or the reason of the signal
 */
export async function* readRecords(
  open: () => Promise<unknown>,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown, void, undefined> {
  const reader = new Response((await open()) as ReadableStream<Uint8Array>).body?.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = (await reader?.read().catch((cause) => breakOff(cause))) ?? {}
      if (value === undefined || done) break
      rest += decoder.decode(value, { stream: true })
      // Most chunks of a large record have no line end: do not search all of it again.
      if (!value.includes(LINE_FEED)) continue
      const lines = rest.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield toRecord(line)
    }
    if (rest !== '') breakOff()
  } finally {
    await reader?.cancel().catch(() => undefined)
  }

  function breakOff(cause?: unknown): never {
    signal?.throwIfAborted()
    throw new ConnectionLost('The answer has broken off before its end', undefined, { cause })
  }
}

const LINE_FEED = 10

/** @throws the error that a line contains */
function toRecord(line: string): unknown {
  let record: unknown
  try {
    record = JSON.parse(line)
  } catch (cause) {
    throw new InvalidResponse('A line of the answer is not JSON', undefined, { cause })
  }
  if (isObject(record) && '$error' in record) throw errorFromJSON(record['$error'])
  return record
}

import { InvalidStream } from '../../core/errors/coded-errors.ts'
import type { ErrorJSON, MethodEntry } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import { listResultFields, pickResult, writeRecord } from '../replies/result-serializer.ts'
import { toCSVLine } from './csv.ts'

/** Writes the records of one stream. */
export interface RecordWriter {
  /** The text before the first record. */
  readonly head: string
  /** Returns some records as lines. */
  write(records: readonly unknown[]): string
  /** Returns the last line of a stream that fails, `''` if the format has none. */
  fail(error: ErrorJSON): string
}

/** A format of record streams. */
export interface RecordFormat {
  /** The value of `$format` in a link, and the extension of the file. */
  readonly name: string
  readonly mediaType: string
  /** The description of the body in documents. */
  readonly description: string
  /** The parameters of the content type. */
  readonly parameters: string
  /**
   * Returns the writer for the records of one call.
   * @param select the fields that the caller has named, `undefined` for all
   * @throws {BadRequest} nothing determines the columns
   */
  createWriter(method: MethodEntry, select: readonly string[] | undefined): RecordWriter
}

/** One record per line. @see https://github.com/ndjson/ndjson-spec */
const NDJSON: RecordFormat = {
  name: 'ndjson',
  mediaType: 'application/x-ndjson',
  description: 'All records, one in each line as JSON. A last line `{"$error":{…}}` is an error.',
  parameters: 'charset=utf-8',
  createWriter: (method) => ({
    head: '',
    write: (records) => records.map((record) => `${writeRecord(method, record)}\n`).join(''),
    // No record field that callers can write starts with `$`.
    fail: (error) => `${JSON.stringify({ $error: error })}\n`,
  }),
}

/** @see RFC 4180 */
const CSV: RecordFormat = {
  name: 'csv',
  mediaType: 'text/csv',
  description: 'All records, behind a line with the names of the columns.',
  parameters: 'charset=utf-8; header=present',
  createWriter(method, select) {
    const columns = select ?? listResultFields(method)
    if (columns.length === 0) {
      throw new InvalidStream(
        'CSV needs columns: name fields by $select, or give the service a schema',
      )
    }
    return {
      head: toCSVLine(columns),
      write: (records) =>
        (pickResult(method, records) as readonly unknown[])
          .map((record) => toCSVLine(columns.map((column) => readField(record, column))))
          .join(''),
      fail: () => '',
    }
  },
}

/** Returns the field of a record, by its name or a path such as `author.name`. */
function readField(record: unknown, path: string): unknown {
  if (!isObject(record)) return undefined
  if (Object.hasOwn(record, path)) return record[path]
  const [name = '', ...inner] = path.split('.')
  if (inner.length === 0 || !Object.hasOwn(record, name)) return undefined
  const value = record[name]
  const rest = inner.join('.')
  return Array.isArray(value) ? value.map((item) => readField(item, rest)) : readField(value, rest)
}

/** The formats of streams of records. */
export const RECORD_FORMATS: readonly RecordFormat[] = [NDJSON, CSV]

import { checkBrackets } from './rest-brackets.ts'

/** The work that the compared servers share: the same records, found in the same way. */
export interface BenchRecord {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly age: number
  readonly active: boolean
  readonly address: { readonly street: string; readonly city: string; readonly zip: string }
  readonly tags: readonly string[]
  readonly createdAt: string
}

export type NewRecord = Omit<BenchRecord, 'id'>

export interface BenchPage {
  readonly total: number
  readonly limit: number
  readonly skip: number
  readonly data: readonly BenchRecord[]
}

const SIZE = 100
const CREATED = 1_000

const records = new Map<string, BenchRecord>()
const created = new Map<string, BenchRecord>()
let createdCount = 0

for (let index = 0; index < SIZE; index += 1) {
  const id = `record-${String(index).padStart(4, '0')}`
  records.set(id, { id, ...toNewRecord(index) })
}

/** Returns the data of a record; what `create` is sent. */
export function toNewRecord(index: number): NewRecord {
  return {
    name: `Name ${index}`,
    email: `name.${index}@example.com`,
    age: 20 + (index % 50),
    active: index % 2 === 0,
    address: { street: `${index} Long Street`, city: 'Springfield', zip: '12345' },
    tags: ['first', 'second', `tag-${index}`],
    createdAt: '2026-08-01T12:00:00.000Z',
  }
}

export function getRecord(id: string): BenchRecord | undefined {
  return records.get(id)
}

/**
 * Returns a page; filters are parsed and not applied, since it is not a database that is measured.
 * @throws {Error} the query in brackets was not parsed as it is meant
 */
export function findRecords(query: Readonly<Record<string, unknown>>): BenchPage {
  checkBrackets(query)
  const limit = Number(query['$limit'] ?? 10)
  const skip = Number(query['$skip'] ?? 0)
  const data: BenchRecord[] = []
  for (const record of records.values()) {
    if (data.length === limit) break
    data.push(record)
  }
  return { total: SIZE, limit, skip, data }
}

/** Stores a record, in place of an older one after a while: the heap is not to grow. */
export function createRecord(data: NewRecord): BenchRecord {
  createdCount += 1
  const id = `created-${String(createdCount % CREATED).padStart(4, '0')}`
  const record = { ...data, id }
  created.set(id, record)
  return record
}

/** Returns one field of each record. */
export function pluck<T extends object>(records: Iterable<T>, field: string): unknown[] {
  return Array.from(records, (record) => Reflect.get(record, field))
}

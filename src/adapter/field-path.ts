/** As deep as a record can be. */
const MAX_PATH_DEPTH = 100

/** A place in a list: `tags.0`, and in updates `tags.$`, `tags.$[]` and `tags.$[item]`. */
const POSITION = /^(?:\d+|\$(?:\[[^\]]*\])?)$/

/** Names that make JSON look like an ObjectId, or that JavaScript gives a meaning. */
const RESERVED: ReadonlySet<string> = new Set(['__proto__', '_bsontype', 'toHexString'])

/** How a path relates to others: it is unrelated, equal to or inside one of them, or contains one. */
export type Relation = 'apart' | 'inside' | 'above'

/** Returns whether a field name is reserved: JSON with such a key imitates a type that JSON lacks. */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name)
}

/** Returns whether a value is the path of a field, as `$sort` and `$select` take it. */
export function isFieldPath(name: unknown): name is string {
  if (typeof name !== 'string' || name === '__proto__') return false
  const parts = name.split('.')
  if (parts.length > MAX_PATH_DEPTH) return false
  return parts.every((part) => part !== '' && !part.startsWith('$') && !part.includes('\0'))
}

/** Returns whether a value is the name of a field at the top of records: a path without a dot. */
export function isFieldName(name: unknown): name is string {
  return isFieldPath(name) && !name.includes('.')
}

/** Returns the paths without those inside another one: the server rejects `['address', 'address.city']`. */
export function selectOutermost(paths: readonly string[]): readonly string[] {
  const all = new Set(paths)
  return [...all].filter((path) => !listAncestors(path).some((ancestor) => all.has(ancestor)))
}

/** Returns a path without places in lists: `tokens.0.text` and `tokens.text` are one field. */
export function withoutPositions(path: string): string {
  const [first = '', ...rest] = path.split('.')
  return [first, ...rest.filter((part) => !POSITION.test(part))].join('.')
}

/** Returns how a path relates to the closest of some others. List indexes are ignored. */
export function relate(path: string, others: readonly string[]): Relation {
  const plain = withoutPositions(path)
  if (others.some((other) => plain === other || plain.startsWith(`${other}.`))) return 'inside'
  return others.some((other) => other.startsWith(`${plain}.`)) ? 'above' : 'apart'
}

function listAncestors(path: string): string[] {
  const parts = path.split('.')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'))
}

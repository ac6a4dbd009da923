import { hasMethod } from '../value-kind.ts'

/** Returns `; did you mean 'name'?` for the name that a mistyped one is closest to, else `''`. */
export function suggestName(mistyped: string, names: Iterable<string>): string {
  const nearest = findNearest(mistyped, names)
  return nearest === undefined ? '' : `; did you mean '${nearest}'?`
}

/** Returns the name that a mistyped one is closest to, `undefined` if none is close. */
export function findNearest(mistyped: string, names: Iterable<string>): string | undefined {
  return [...names]
    .map((name) => ({ name, distance: countEdits(mistyped.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance }) => distance <= toMaxEdits(name))
    .sort((one, other) => one.distance - other.distance)[0]?.name
}

/** Like {@link suggestName}, for a missing method of an object. */
export function suggestMethod(mistyped: string, object: object): string {
  const owners = [object, Object.getPrototypeOf(object)].filter((one) => one !== null)
  const names = owners.flatMap((one) => Object.getOwnPropertyNames(one))
  const methods = names.filter((name) => name !== 'constructor' && hasMethod(object, name))
  return suggestName(mistyped, methods)
}

/** The shorter a name is, the fewer edits turn it into another word. */
function toMaxEdits({ length }: string): number {
  return length < 8 ? 2 : 3
}

/** The number of missing, added or exchanged letters. */
function countEdits(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 3) return Number.POSITIVE_INFINITY
  let previous = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      current.push(
        Math.min(
          (previous[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (previous[column - 1] ?? 0) + (isSame ? 0 : 1),
        ),
      )
    }
    previous = current
  }
  return previous[other.length] ?? 0
}

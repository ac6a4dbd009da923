/** Returns `; did you mean 'name'?` for the name that a mistyped one is close to, else `''`. */
export function suggestName(mistyped: string, names: Iterable<string>): string {
  const near = [...names].find((name) => isNear(mistyped.toLowerCase(), name.toLowerCase()))
  return near === undefined ? '' : `; did you mean '${near}'?`
}

/** Whether two letters at most were forgotten, added, mixed up or exchanged. */
function isNear(one: string, other: string): boolean {
  if (Math.abs(one.length - other.length) > 2) return false
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
  return (previous[other.length] ?? 0) <= 2
}

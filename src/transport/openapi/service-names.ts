/** Returns the name of a service for types and operations: `UsersByUserIdMessages`. */
export function toTypeName(path: string): string {
  const words = path.split('/').flatMap((segment) => {
    const words = segment.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
    return segment.startsWith(':') ? ['by', ...words] : words
  })
  return words.map(capitalize).join('') || 'Root'
}

export function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}

/** Gives each operation an id of its own, as generators make a function of each. */
export class OperationIds {
  readonly #taken = new Set<string>()

  /** Returns `findUsers` for `find` of `users`, with a number where that is taken. */
  create(method: string, typeName: string): string {
    const base = `${method.replace(/[^A-Za-z0-9_]+/g, '')}${typeName}`
    let id = base
    for (let count = 2; this.#taken.has(id); count += 1) id = `${base}${count}`
    this.#taken.add(id)
    return id
  }
}

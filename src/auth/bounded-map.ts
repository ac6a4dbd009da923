/**
 * A map that holds a limited number of entries and forgets those that were not used for longest, to
 * within a factor of two. Keys may come from outside. It keeps two generations: when the young one
 * is full it becomes the old one, and what nobody asked for in the meantime is gone. So a hit costs
 * one look-up and writes nothing.
 */
export class BoundedMap<K, V> {
  readonly #generationSize: number
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  /** @param size how many entries there are at most; at least 2 */
  constructor(size: number) {
    this.#generationSize = Math.max(1, Math.floor(size / 2))
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old === undefined) return undefined
    this.set(key, old)
    return old
  }

  set(key: K, value: V): void {
    this.#old.delete(key)
    if (this.#young.size >= this.#generationSize && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}

/**
 * A map with a limited number of entries, which drops those unused for the longest time, so that keys may come from
 * requests. It has two generations of half the size. When the young one is full it becomes the old one, and the entries
 * of the previous old one that were not read in the meantime are dropped. Unlike in a list sorted by use, reading a
 * young entry writes nothing.
 */
export class BoundedMap<K, V> {
  readonly #generationSize: number
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  /** @param size the maximum number of entries, at least 2 */
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

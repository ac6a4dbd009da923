/** The maximum number of items in a block: adding an item moves no more than these. */
const BLOCK_SIZE = 512

/** Below zero for the items before a run, zero for those in it, above zero for those after it. */
export type Side<Item> = (item: Item) => number

/** Sorted items without duplicates, in blocks, so that the cost of a write hardly grows with their number. */
export class SortedList<Item> {
  readonly #compare: (a: Item, b: Item) => number
  /** At least one block; only the last one can be empty. */
  readonly #blocks: Item[][] = []

  constructor(compare: (a: Item, b: Item) => number, items: readonly Item[]) {
    this.#compare = compare
    const sorted = items.toSorted(compare).filter((item, at, all) => {
      const before = all[at - 1]
      return at === 0 || compare(before as Item, item) !== 0
    })
    for (let at = 0; at === 0 || at < sorted.length; at += BLOCK_SIZE / 2) {
      this.#blocks.push(sorted.slice(at, at + BLOCK_SIZE / 2))
    }
  }

  add(item: Item): void {
    const { block, at, items } = this.#seek((other) => this.#compare(other, item) >= 0)
    if (at < items.length && this.#compare(items[at] as Item, item) === 0) return
    items.splice(at, 0, item)
    if (items.length > BLOCK_SIZE) this.#blocks.splice(block + 1, 0, items.splice(BLOCK_SIZE / 2))
  }

  remove(item: Item): void {
    const { block, at, items } = this.#seek((other) => this.#compare(other, item) >= 0)
    if (at === items.length || this.#compare(items[at] as Item, item) !== 0) return
    items.splice(at, 1)
    if (items.length === 0 && this.#blocks.length > 1) this.#blocks.splice(block, 1)
  }

  /** Returns how many items are in a run. */
  count(side: Side<Item>): number {
    return this.#pieces(side).reduce((count, { from, to }) => count + to - from, 0)
  }

  /** Yields the items of a run, in order or backwards. */
  *run(side: Side<Item>, backwards = false): Generator<Item> {
    const pieces = this.#pieces(side)
    for (const { items, from, to } of backwards ? pieces.reverse() : pieces) {
      const piece = items.slice(from, to)
      yield* backwards ? piece.reverse() : piece
    }
  }

  /** Returns the blocks of a run, and where it begins and ends in each. */
  #pieces(side: Side<Item>) {
    const start = this.#seek((item) => side(item) >= 0)
    const end = this.#seek((item) => side(item) > 0)
    return this.#blocks.slice(start.block, end.block + 1).map((items, at) => ({
      items,
      from: at === 0 ? start.at : 0,
      to: start.block + at === end.block ? end.at : items.length,
    }))
  }

  /** Returns the place of the first item that passes a test; all items after it pass it too. */
  #seek(meets: (item: Item) => boolean) {
    const last = this.#blocks.length - 1
    const block = findFirst(last, (at) => meets(this.#blocks[at]?.at(-1) as Item))
    const items = this.#blocks[block] ?? []
    return { block, items, at: findFirst(items.length, (at) => meets(items[at] as Item)) }
  }
}

/** Returns the first index below a count that passes a test, as all after it do; else the count. */
function findFirst(count: number, meets: (index: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (meets(middle)) high = middle
    else low = middle + 1
  }
  return low
}

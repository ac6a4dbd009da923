/** The most items of one block: to add an item moves no more than these. */
const BLOCK_SIZE = 512

/** Below zero for the items before a run, zero for those in it, above zero for those behind it. */
export type Side<Item> = (item: Item) => number

/** Items in order, without duplicates, in blocks: what a write costs hardly grows with their number. */
export class SortedList<Item> {
  readonly #compare: (a: Item, b: Item) => number
  /** Only the last one can be empty. */
  readonly #blocks: Item[][] = [[]]

  constructor(compare: (a: Item, b: Item) => number) {
    this.#compare = compare
  }

  add(item: Item): void {
    const { block, items, at, isThere } = this.#find(item)
    if (!isThere) items.splice(at, 0, item)
    if (items.length > BLOCK_SIZE) this.#blocks.splice(block + 1, 0, items.splice(BLOCK_SIZE / 2))
  }

  remove(item: Item): void {
    const { block, items, at, isThere } = this.#find(item)
    if (isThere) items.splice(at, 1)
    if (items.length === 0 && this.#blocks.length > 1) this.#blocks.splice(block, 1)
  }

  /** Returns how many items are in a run. */
  count(side: Side<Item>): number {
    const [from, to] = this.#ends(side)
    const blocks = this.#blocks.slice(from.block, to.block)
    return blocks.reduce((count, { length }) => count + length, to.at - from.at)
  }

  /** Yields the items of a run, in order or backwards. */
  *run(side: Side<Item>, backwards = false): Generator<Item> {
    const [from, to] = this.#ends(side)
    for (let step = 0; step <= to.block - from.block; step += 1) {
      const block = backwards ? to.block - step : from.block + step
      const end = block === to.block ? to.at : BLOCK_SIZE
      const items = (this.#blocks[block] ?? []).slice(block === from.block ? from.at : 0, end)
      yield* backwards ? items.reverse() : items
    }
  }

  #find(item: Item) {
    const { block, at } = this.#seek((other) => this.#compare(other, item) >= 0)
    const items = this.#blocks[block] ?? []
    return {
      block,
      items,
      at,
      isThere: at < items.length && this.#compare(items[at] as Item, item) === 0,
    }
  }

  #ends(side: Side<Item>) {
    return [this.#seek((item) => side(item) >= 0), this.#seek((item) => side(item) > 0)] as const
  }

  /** Returns the place of the first item that meets a test, as all behind it do. */
  #seek(meets: (item: Item) => boolean) {
    const last = this.#blocks.length - 1
    const block = findFirst(last, (at) => meets(this.#blocks[at]?.at(-1) as Item))
    const items = this.#blocks[block] ?? []
    return { block, at: findFirst(items.length, (at) => meets(items[at] as Item)) }
  }
}

/** Returns the first index below a count that meets a test, as all behind it do; else the count. */
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

import type { Document } from 'mongodb'
import { Decimal128, Long, ObjectId } from 'mongodb'

/** Chooses the same for the same seed. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** Returns a number from 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** Returns a whole number below a limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value
  }

  /** Returns `least` to `most` results of a function. */
  list<Value>(least: number, most: number, make: () => Value): Value[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make)
  }
}

const NUMBERS = [0, 1, 2, 3, 5, -1, 1.5, 2.5, 1e6]
const STRINGS = ['a', 'b', 'B', 'ab', '', '5', 'é']
const DATES = [new Date(0), new Date('2024-02-29T12:30:00Z'), new Date('2025-01-01T00:00:00Z')]
const IDS = ['65e0f0000000000000000001', '65e0f0000000000000000002'].map((hex) => new ObjectId(hex))
const RARE = [Long.fromString('9007199254740993'), new Decimal128('1.5'), Number.NaN]

export const numberOf = (random: Random): number => random.pick(NUMBERS)
export const stringOf = (random: Random): string => random.pick(STRINGS)
export const dateOf = (random: Random): Date => random.pick(DATES)

/** Returns a value that is no document and no array. */
export function scalarOf(random: Random): unknown {
  return random.pick<() => unknown>([
    () => numberOf(random),
    () => numberOf(random),
    () => numberOf(random),
    () => stringOf(random),
    () => stringOf(random),
    () => random.pick([null, true, false]),
    () => dateOf(random),
    () => random.pick(IDS),
    () => (random.chance(0.2) ? random.pick(RARE) : null),
  ])()
}

/** Returns any value. */
export function anyValueOf(random: Random): unknown {
  return random.pick<() => unknown>([
    () => scalarOf(random),
    () => scalarOf(random),
    () => random.list(0, 3, () => scalarOf(random)),
    () => itemOf(random),
    () => random.list(0, 2, () => itemOf(random)),
    () => [random.list(0, 2, () => numberOf(random))],
  ])()
}

/** Returns a document with some of the fields `k`, `v` and `w`. */
export function itemOf(random: Random): Document {
  return {
    ...(random.chance(0.8) ? { k: numberOf(random) } : {}),
    ...(random.chance(0.7) ? { v: scalarOf(random) } : {}),
    ...(random.chance(0.2) ? { w: random.list(0, 2, () => numberOf(random)) } : {}),
  }
}

const FIELDS: Readonly<Record<string, (random: Random) => unknown>> = {
  a: anyValueOf,
  b: scalarOf,
  n: numberOf,
  s: stringOf,
  t: dateOf,
  l: (random) => random.list(0, 4, () => scalarOf(random)),
  m: (random) => random.list(0, 4, () => numberOf(random)),
  o: itemOf,
  d: (random) => random.list(0, 3, () => itemOf(random)),
}

/** Returns a document with this `_id`, most of the fields, and a field that no other one shares. */
export function documentOf(random: Random, id: number): Document {
  const document: Document = { _id: id, u: `u${id}` }
  for (const [name, make] of Object.entries(FIELDS)) {
    if (random.chance(0.75)) document[name] = make(random)
  }
  return document
}

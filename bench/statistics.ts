/** Returns the value in the middle: one that was disturbed does not count. */
export function toMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

/** How two costs compare that were measured in pairs. */
export interface Ratio {
  readonly median: number
  /** The quarter and the three quarters of all pairs: how steady the machine was. */
  readonly low: number
  readonly high: number
}

/**
 * Returns how many times as much one costs as the other, pair by pair. A machine that gets slower
 * between two pairs changes nothing.
 */
export function toRatio(one: readonly number[], other: readonly number[]): Ratio {
  const ratios = one.map((cost, index) => cost / (other[index] ?? Number.NaN))
  const sorted = ratios.toSorted((a, b) => a - b)
  const at = (share: number): number => sorted[Math.floor(share * sorted.length)] ?? Number.NaN
  return { median: toMedian(ratios), low: at(0.25), high: at(0.75) }
}

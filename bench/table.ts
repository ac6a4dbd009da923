/** Prints rows of a Markdown table; several at once begin a new one. */
export function printTable(...rows: readonly (readonly string[])[]): void {
  if (rows.length > 1) console.log('')
  for (const row of rows) console.log(`| ${row.join(' | ')} |`)
}

/** Returns what is said of an efficiency: met, the least met, or missed. */
export function toVerdict(efficiency: number, target = 0, least = 0): string {
  if (least === 0) return 'for information'
  if (efficiency < least) return 'MISSED'
  return efficiency < target ? 'least met' : 'met'
}

/** Returns a share as a percentage: 0.5 is `50 %`. */
export function toPercent(share: number | undefined): string {
  return share === undefined ? '' : `${(100 * share).toFixed(0)} %`
}

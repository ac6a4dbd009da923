/** Values that a spreadsheet may read as a formula, also after spaces and quotes. @see OWASP, CSV injection */
const FORMULA = /^[\t\r\n]|^[\s"']*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/

const NEGATIVE_NUMBER = /^-\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i

/** Characters that end a cell. In some countries a semicolon does. */
const SEPARATING = /[",;\r\n\t]|^\s|\s$/

/** Returns values as a line with its line end. @see RFC 4180 §2 */
export function toCSVLine(values: readonly unknown[]): string {
  return `${values.map(toCell).join(',')}\r\n`
}

/**
 * Returns a value as a cell: empty for `null` and `undefined`, JSON for objects and lists. A value that a spreadsheet
 * may read as a formula gets an apostrophe, which makes it text; negative numbers do not.
 */
function toCell(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = toText(value)
  const safe = FORMULA.test(text) && !NEGATIVE_NUMBER.test(text) ? `'${text}` : text
  return SEPARATING.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  const json = JSON.stringify(value) ?? ''
  // Dates and ids are strings in JSON.
  return json.startsWith('"') ? (JSON.parse(json) as string) : json
}

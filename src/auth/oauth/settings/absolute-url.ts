/** Returns an absolute URL, `null` where the value is none. */
export function toAbsoluteUrl(value: unknown): URL | null {
  return typeof value === 'string' && URL.canParse(value) ? new URL(value) : null
}

/** Returns a URL with a scheme and a host, `null` where the text is none. */
export function toAbsoluteUrl(text: unknown): URL | null {
  return typeof text === 'string' && URL.canParse(text) ? new URL(text) : null
}

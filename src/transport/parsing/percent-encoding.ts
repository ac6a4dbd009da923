/**
 * Returns a name or value of a query or a form without its encoding. What is not percent-encoded in a
 * valid way is kept as it stands.
 */
export function decodePercent(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

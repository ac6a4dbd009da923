/** Returns a percent-decoded string; one with invalid percent-encoding is returned as it is. */
export function decodePercent(encoded: string): string {
  if (!encoded.includes('%')) return encoded
  try {
    return decodeURIComponent(encoded)
  } catch {
    return encoded
  }
}

/** Returns a decoded name or value of a query or a form, where a plus sign stands for a space. */
export function decodeParameter(encoded: string): string {
  return decodePercent(encoded.includes('+') ? encoded.replaceAll('+', ' ') : encoded)
}

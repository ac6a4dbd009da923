/** Returns the headers of an answer as libraries for Node give them, each as one string. */
export function joinHeaders(headers: object): Record<string, string> {
  const joined: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) joined[name.toLowerCase()] = [value].flat().join(', ')
  }
  return joined
}

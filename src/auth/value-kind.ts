/** Whether a value is a text that is not empty. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Whether a value is a list of such texts; it may be empty. */
export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}

/** Whether a value is one text or more. */
export function isTextOrList(value: unknown): value is string | readonly string[] {
  return isText(value) || (isTextList(value) && value.length > 0)
}

/** Whether a value is an object of whatever kind. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

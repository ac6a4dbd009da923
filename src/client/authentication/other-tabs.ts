import { isObject } from '../../core/value-kind.ts'

/** What a browser says of a change that another tab has made. */
interface StorageChange {
  /** `null` where all items were removed. */
  readonly key: string | null
  readonly newValue: string | null
  readonly storageArea: unknown
}

interface Page {
  readonly location?: unknown
  addEventListener?(name: 'storage', listener: (change: StorageChange) => void): void
}

/**
 * Calls a function with the new value, `null` for none, when another tab of the browser has changed an item of a
 * storage that tabs share. The listener stays until the page is closed.
 */
export function followOtherTabs(
  storage: unknown,
  key: string,
  onChange: (value: string | null) => void,
): void {
  const page = globalThis as Page
  // Elsewhere than in a browser there are no tabs, and the listener would keep its client for ever.
  if (page.location == null) return
  page.addEventListener?.('storage', (change) => {
    const isOfItem = change.key === key || change.key === null
    if (isOfItem && change.storageArea === storage) onChange(change.newValue)
  })
}

/** Returns the claims of an access token, which nobody has verified; none where it can not be read. */
export function readClaims(accessToken: string): Readonly<Record<string, unknown>> {
  try {
    const payload = accessToken.split('.')[1] ?? ''
    const bytes = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)))
    const claims: unknown = JSON.parse(text)
    return isObject(claims) ? claims : {}
  } catch {
    // Tokens of other servers may have any form.
    return {}
  }
}

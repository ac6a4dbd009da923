import { isObject } from '../../core/value-kind.ts'

/** What a browser says of a change that another tab has made. */
interface StorageChange {
  /** `null` where all items were removed. */
  readonly key: string | null
  readonly newValue: string | null
  readonly storageArea: unknown
}

interface Page {
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
  page.addEventListener?.('storage', (change) => {
    const isOfItem = change.key === key || change.key === null
    if (isOfItem && change.storageArea === storage) onChange(change.newValue)
  })
}

/** Returns the claim `sub` of an access token, which nobody has verified; `undefined` for none. */
export function readSubject(accessToken: string): unknown {
  try {
    const payload = accessToken.split('.')[1] ?? ''
    const bytes = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)))
    const claims: unknown = JSON.parse(text)
    return isObject(claims) ? claims['sub'] : undefined
  } catch {
    // Tokens of other servers may have any form.
    return undefined
  }
}

import { isObject } from '../../core/value-kind.ts'
import type { Login } from './login-state.ts'
import { toClaims } from './login-state.ts'

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

/** Whether a token was issued for the session of a login, as far as both say. */
export function isSameSession(accessToken: string, login: Login): boolean {
  const { sid } = toClaims(login)
  return sid !== undefined && readClaims(accessToken)['sid'] === sid
}

/** The locks that the tabs of a browser share. */
interface SharedLocks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>
}

/** Runs a function while no other tab of the browser runs one under the same name. */
export async function lockTabs<T>(name: string, work: () => Promise<T>): Promise<T> {
  const { location, navigator } = globalThis as {
    readonly location?: object
    readonly navigator?: { readonly locks?: SharedLocks }
  }
  // Elsewhere than in a browser, one process has logins of many users.
  const locks = location == null ? undefined : navigator?.locks
  let hasBegun = false
  const begin = (): Promise<T> => {
    hasBegun = true
    return work()
  }
  try {
    return await (locks?.request(name, begin) ?? work())
  } catch (error) {
    // A browser that keeps nothing of this site has no locks for it either.
    if (hasBegun || locks === undefined) throw error
    return work()
  }
}

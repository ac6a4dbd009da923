import { isObject } from '../../core/value-kind.ts'
import type { Login } from './login-state.ts'
import { toClaims } from './login-state.ts'

/** The part of a browser's `storage` event that is used. */
interface StorageChange {
  /** `null` if all items were removed. */
  readonly key: string | null
  readonly newValue: string | null
  readonly storageArea: unknown
}

interface Page {
  readonly location?: unknown
  addEventListener?(name: 'storage', listener: (change: StorageChange) => void): void
}

/**
 * Calls a function with the new value, `null` for none, when another tab of the browser has changed an item of a shared
 * storage. The listener stays until the page is closed.
 */
export function followOtherTabs(
  storage: unknown,
  key: string,
  onChange: (value: string | null) => void,
): void {
  const page = globalThis as Page
  // Outside of browsers there are no tabs, and the listener would keep its client in memory forever.
  if (page.location == null) return
  page.addEventListener?.('storage', (change) => {
    const isOfItem = change.key === key || change.key === null
    if (isOfItem && change.storageArea === storage) onChange(change.newValue)
  })
}

/** Returns the unverified claims of an access token; an empty object if it cannot be read. */
export function readClaims(accessToken: string): Readonly<Record<string, unknown>> {
  try {
    const payload = accessToken.split('.')[1] ?? ''
    const bytes = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)))
    const claims: unknown = JSON.parse(text)
    return isObject(claims) ? claims : {}
  } catch {
    // Tokens of other servers may have any format.
    return {}
  }
}

/** Returns whether a token was issued for the session of a login, as far as both name one. */
export function isSameSession(accessToken: string, login: Login): boolean {
  const { sid } = toClaims(login)
  return sid !== undefined && readClaims(accessToken)['sid'] === sid
}

/** Runs a function while no other tab of the browser runs one under the same name. */
export async function lockTabs<T>(name: string, work: () => Promise<T>): Promise<T> {
  const { location, navigator } = globalThis as {
    readonly location?: object
    /** Its locks are shared by the tabs of a browser. */
    readonly navigator?: {
      locks?: { request<R>(name: string, work: () => Promise<R>): Promise<R> }
    }
  }
  // Outside of browsers, one process has the logins of many users.
  const locks = location == null ? undefined : navigator?.locks
  let hasBegun = false
  const begin = (): Promise<T> => {
    hasBegun = true
    return work()
  }
  try {
    return await (locks?.request(name, begin) ?? work())
  } catch (error) {
    // A browser that stores nothing for this site has no locks for it either.
    if (hasBegun || locks === undefined) throw error
    return work()
  }
}

/** Browsers drop a cookie of more than 4,096 bytes, including its name and attributes. */
const MAX_COOKIE_LENGTH = 3800

/** A cookie that scripts cannot read. */
export interface Cookie {
  readonly name: string
  readonly value: string
  /** In seconds; 0 removes it from the browser. */
  readonly maxAge: number
  readonly path: string
  readonly isSecure: boolean
  readonly sameSite: 'Lax' | 'None'
}

/** Returns a cookie as the header `set-cookie`, `null` if it is too long for browsers. */
export function toSetCookie(cookie: Cookie): string | null {
  const { name, value, maxAge, path, isSecure, sameSite } = cookie
  // Callers choose part of the path below a prefix with parameters, and must not be able to add attributes.
  const scope = `Max-Age=${maxAge}; Path=${path.replaceAll(';', '%3B')}; HttpOnly`
  const header = `${name}=${value}; ${scope}${isSecure ? '; Secure' : ''}; SameSite=${sameSite}`
  return header.length > MAX_COOKIE_LENGTH ? null : header
}

/**
 * Returns the cookies of a request that have one of the names, byte for byte, as `[name, value]`. More than one usually
 * means an attack: a neighbouring host has set a cookie of the same name.
 * @param header the header `cookie`
 */
export function findCookies(header: unknown, names: readonly string[]): [string, string][] {
  return (
    String(header ?? '')
      .split(';')
      // Browsers strip only these two. `trim()` would also strip a no-break space, turning a cookie that any
      // neighbouring host can set into one with the prefix `__Host-`.
      .map((pair) => pair.replace(/^[ \t]+/, '').split('=', 2) as [string, string?])
      .filter(([name]) => names.includes(name))
      .map(([name, value = '']) => [name, value])
  )
}

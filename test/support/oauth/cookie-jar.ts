import type { Cookie } from './set-cookie.ts'
import { findRefusal, isWithin, parseSetCookie } from './set-cookie.ts'
import type { SiteRelation } from './site.ts'
import { isTrustworthy } from './site.ts'

/** What decides about the cookies of a request, beside its URL. */
export interface Navigation {
  readonly method: string
  readonly relation: SiteRelation
}

/** A cookie that was not kept. */
export interface RefusedCookie {
  readonly header: string
  readonly reason: string
}

/** Methods that `SameSite=Lax` lets through from another site. */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether a cookie goes with a request from another site. */
const CROSS_SITE: Readonly<Record<Cookie['sameSite'], (method: string) => boolean>> = {
  Strict: () => false,
  Lax: (method) => SAFE_METHODS.has(method),
  None: () => true,
}

/** The cookies of one browser. Ports do not count: cookies are by host. */
export class CookieJar {
  /** What servers tried to set and a browser does not keep. */
  readonly refused: RefusedCookie[] = []
  readonly #cookies = new Map<string, Cookie>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** The cookies that have not expired, in the order in which they came. */
  get all(): Cookie[] {
    const now = this.#now()
    return [...this.#cookies.values()].filter(({ expires = Infinity }) => expires > now)
  }

  /** Keeps, replaces or deletes what a response from a URL sets. */
  store(headers: Headers, url: URL): void {
    for (const header of headers.getSetCookie()) {
      const cookie = parseSetCookie(header, url, this.#now())
      const reason = findRefusal(cookie, url) ?? this.#findOverwritten(cookie, url)
      if (reason === undefined) this.#keep(cookie)
      else this.refused.push({ header, reason })
    }
  }

  /** Returns the `cookie` header of a request, `undefined` when no cookie goes with it. */
  headerFor(url: URL, { method, relation }: Navigation): string | undefined {
    const sent = this.#matching(url).filter(
      ({ sameSite }) => relation !== 'cross-site' || CROSS_SITE[sameSite](method),
    )
    return sent.map(({ name, value }) => `${name}=${value}`).join('; ') || undefined
  }

  /** Returns what `document.cookie` of a page says: nothing of a cookie that is `HttpOnly`. */
  scriptCookies(url: URL): string {
    const seen = this.#matching(url).filter(({ httpOnly }) => !httpOnly)
    return seen.map(({ name, value }) => `${name}=${value}`).join('; ')
  }

  #keep(cookie: Cookie): void {
    const key = JSON.stringify([cookie.name, cookie.domain, cookie.hostOnly, cookie.path])
    const { expires = Infinity } = cookie
    if (expires > this.#now()) this.#cookies.set(key, cookie)
    else this.#cookies.delete(key)
  }

  /** What an insecure page sets must not take the place of a cookie that is `Secure`. */
  #findOverwritten(cookie: Cookie, url: URL): string | undefined {
    if (isTrustworthy(url)) return undefined
    const secure = this.all.find(
      (other) => other.secure && other.name === cookie.name && isWithin(url.hostname, other),
    )
    return secure === undefined ? undefined : 'a Secure cookie has its name'
  }

  /** The longest path first; the sort keeps the order of those of one length. */
  #matching(url: URL): Cookie[] {
    return this.all
      .filter((cookie) => isWithin(url.hostname, cookie) && isBelow(url.pathname, cookie.path))
      .filter(({ secure }) => !secure || isTrustworthy(url))
      .sort((one, other) => other.path.length - one.path.length)
  }
}

function isBelow(path: string, cookiePath: string): boolean {
  if (path === cookiePath) return true
  return path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`)
}

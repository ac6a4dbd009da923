import type { RefusedCookie } from './cookie-jar.ts'
import { CookieJar } from './cookie-jar.ts'
import { fillForm } from './html-form.ts'
import { DEFAULT_POLICY, readPolicy, toReferer } from './referrer.ts'
import type { Cookie } from './set-cookie.ts'
import { relationOf } from './site.ts'

/** What a browser shows after a request. */
export interface Page {
  /** With the fragment, which no server sees. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Where the response redirects to, absolute and with its fragment; `null` when it does not. */
  readonly location: string | null
}

export interface CookieBrowserOptions {
  /** Time that cookies expire by, in milliseconds since the epoch; default the time of day. */
  readonly now?: () => number
  /**
   * Origins that are served elsewhere: `{ 'https://app.test': 'http://127.0.0.1:3030' }`. Requests go
   * there as from a proxy, which names the origin in `x-forwarded-proto` and `x-forwarded-host`.
   */
  readonly proxies?: Readonly<Record<string, string>>
}

export interface OpenOptions {
  /** Page that holds the link or the form; without it, the address is typed by the user. */
  readonly referer?: string
}

export interface FollowOptions extends OpenOptions {
  /** Asked about each location before it is opened: `true` ends at the page that redirects there. */
  readonly stopAt?: (location: URL) => boolean
}

/** A request of a page or of the user; a redirect repeats it with another URL. */
interface Request {
  readonly url: URL
  readonly method: string
  readonly body: URLSearchParams | undefined
  readonly initiator: URL | undefined
  readonly policy: string
}

const MAX_REDIRECTS = 20
const REDIRECTS = new Set([301, 302, 303, 307, 308])
const KEEP_METHOD = new Set([307, 308])

/**
 * A browser without scripts: cookies, redirects, forms, `Referer` and `Sec-Fetch-Site` are as
 * browsers have them; every request is the navigation of a whole page.
 */
export class CookieBrowser {
  readonly #jar: CookieJar
  readonly #proxies: Readonly<Record<string, string>>

  constructor({ now = () => Date.now(), proxies = {} }: CookieBrowserOptions = {}) {
    this.#jar = new CookieJar(now)
    this.#proxies = proxies
  }

  /** The cookies that it holds. */
  get cookies(): readonly Cookie[] {
    return this.#jar.all
  }

  /** The cookies that servers tried to set in vain, each with the reason. */
  get refused(): readonly RefusedCookie[] {
    return this.#jar.refused
  }

  /** Returns what a script on the page of a URL reads from `document.cookie`. */
  scriptCookies(url: string): string {
    return this.#jar.scriptCookies(new URL(url))
  }

  /** Resolves to the answer to one GET; does not follow a redirect. */
  async open(url: string, options: OpenOptions = {}): Promise<Page> {
    return this.#send(toRequest(url, options))
  }

  /** Resolves to the page that a link leads to, after all redirects. */
  async follow(url: string, options: FollowOptions = {}): Promise<Page> {
    return this.#navigate(toRequest(url, options), options)
  }

  /**
   * Resolves to the page that the first form of a page leads to, after all redirects. Fields that are
   * not given keep their values; a button is pressed by its name and value.
   *
   * @throws {Error} there is no form, or it has no such field
   */
  async submit(
    page: Page,
    given: Readonly<Record<string, string>> = {},
    options: Pick<FollowOptions, 'stopAt'> = {},
  ): Promise<Page> {
    const pageUrl = new URL(page.url)
    const { url, method, fields } = fillForm(page.text, pageUrl, given)
    const policy = readPolicy(page.headers, DEFAULT_POLICY)
    if (method === 'GET') url.search = fields.toString()
    const body = method === 'GET' ? undefined : fields
    return this.#navigate({ url, method, body, initiator: pageUrl, policy }, options)
  }

  async #navigate(first: Request, { stopAt }: FollowOptions): Promise<Page> {
    let request = first
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const page = await this.#send(request)
      if (page.location === null) return page
      const url = new URL(page.location)
      if (stopAt?.(url)) return page
      request = toRedirected(request, page, url)
    }
    throw new Error(`More than ${MAX_REDIRECTS} redirects, the last to ${request.url.href}`)
  }

  async #send(request: Request): Promise<Page> {
    const { url, method, body } = request
    const proxy = this.#proxies[url.origin]
    const target = proxy === undefined ? url : new URL(url.pathname + url.search, proxy)
    const response = await fetch(target, {
      method,
      headers: this.#headersOf(request, proxy !== undefined),
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    })
    this.#jar.store(response.headers, url)
    const { status, headers } = response
    return {
      url: url.href,
      status,
      headers,
      text: await response.text(),
      location: locate(response, url),
    }
  }

  #headersOf({ url, method, initiator, policy }: Request, isProxied: boolean) {
    const relation = relationOf(url, initiator)
    const headers: Record<string, string | undefined> = {
      accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
      cookie: this.#jar.headerFor(url, { method, relation }),
      referer: initiator && toReferer(initiator, url, policy),
      origin: method === 'GET' ? undefined : (initiator?.origin ?? 'null'),
      'sec-fetch-site': relation,
      ...(isProxied && {
        'x-forwarded-host': url.host,
        'x-forwarded-proto': url.protocol.slice(0, -1),
      }),
    }
    const present = Object.entries(headers).filter(([, value]) => value !== undefined)
    return Object.fromEntries(present) as Record<string, string>
  }
}

function toRequest(url: string, { referer }: OpenOptions): Request {
  const initiator = referer === undefined ? undefined : new URL(referer)
  return { url: new URL(url), method: 'GET', body: undefined, initiator, policy: DEFAULT_POLICY }
}

/** A redirect keeps its initiator: that is the page where the link or form was. */
function toRedirected(request: Request, { status, headers }: Page, url: URL): Request {
  const policy = readPolicy(headers, request.policy)
  if (KEEP_METHOD.has(status)) return { ...request, url, policy }
  return { ...request, url, policy, method: 'GET', body: undefined }
}

/** A location without a fragment keeps the one of the URL that redirects. */
function locate({ status, headers }: Response, url: URL): string | null {
  const location = headers.get('location')
  if (location === null || !REDIRECTS.has(status)) return null
  const target = new URL(location, url)
  if (target.hash === '') target.hash = url.hash
  return target.href
}

import { InvalidResponse, OAuthRejected } from '../../core/errors/coded-errors.ts'
import type { NotAuthenticated } from '../../core/errors/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import { isRefusal } from './login-state.ts'

/** The part of `window.location` that may hold a token. */
export interface LocationWithHash {
  /** The hash, starting with `#`. */
  hash: string
}

interface Page {
  readonly location?: (LocationWithHash & { readonly href?: string }) | null
  readonly history?: {
    readonly state: unknown
    replaceState?(state: unknown, title: string, url: string): void
  }
}

/** The page that a browser shows; `location` is missing elsewhere. */
const PAGE = globalThis as Page

const NO_LOGIN: Promise<string | null> = /* @__PURE__ */ Promise.resolve(null)

/** The login that the page was opened with. */
export class PageLogin {
  /** Its token, or its error. Kept until a login, since it is no longer in the URL. */
  #token = NO_LOGIN
  /** The response of the server to the code in the URL. */
  #codeResult: LoginResult | null = null

  /**
   * Resolves to the token in the hash of a URL, or to the token for a code there; `null` if there is neither.
   * @param names those in the hash under which an external login leaves its token or its error
   * @throws {NotAuthenticated} the hash has an error, or the server rejects the code; the error's name is `OauthError`
   * @throws {GeneralError} the response to the code has no token
   */
  async read(
    location: LocationWithHash,
    names: { readonly locationKey: string; readonly locationErrorKey: string },
    service: LoginService,
  ): Promise<string | null> {
    const [accessToken] = takeFromHash(location, names.locationKey)
    if (accessToken) return accessToken
    const [message] = takeFromHash(location, names.locationErrorKey)
    if (message !== undefined) throw createLocationError(message)
    const result = await exchangeCode(location, service)
    if (result === null) return null
    this.#codeResult = result
    if (isNonEmptyString(result.accessToken)) return result.accessToken
    throw new InvalidResponse('The server has answered a login without an access token')
  }

  /** Keeps the token that was read, if there is one. Resolves when all reads are done. */
  async remember(reading: Promise<string | null>): Promise<void> {
    const before = this.#token
    this.#token = reading.then((accessToken) => accessToken ?? before)
    // Exchanging a code takes a request: concurrent callers wait for the same token.
    await Promise.allSettled([before, this.#token])
  }

  /** Resolves to the token, once; `null` if there is none. Rejects with the error of the login. */
  take(): Promise<string | null> {
    const token = this.#token
    this.#token = NO_LOGIN
    return token
  }

  /** Returns the response to the code that contains this token, `null` if there is none. */
  findResult(accessToken: string): LoginResult | null {
    return this.#codeResult?.accessToken === accessToken ? this.#codeResult : null
  }
}

/** Returns the location of the page, `undefined` outside of browsers. */
export function findLocation(): LocationWithHash | undefined {
  return PAGE.location ?? undefined
}

/** Removes the values of these names from the hash and returns them; nothing unless all are there. */
export function takeFromHash(location: LocationWithHash, ...names: string[]): string[] {
  // Outside of browsers, a location may lack it.
  const hash = typeof location.hash === 'string' ? location.hash.replace(/^#/, '') : ''
  // A router of the page may have put a path there, followed by a query.
  const [route = ''] = /^[^?&=]*\?/.exec(hash) ?? []
  const pairs = hash.slice(route.length).split('&')
  const values = names.map((name) => pairs.find((pair) => isOf(name, pair)))
  if (values.includes(undefined)) return []
  const others = pairs.filter((pair) => !names.some((name) => isOf(name, pair)))
  const isBare = others.length === 0
  replaceHash(location, isBare ? route.replace('?', '') : route + others.join('&'))
  return values.map((pair = '') => decode(pair.slice(pair.indexOf('=') + 1)))
}

/** Removes the outcome of an external login from a hash. Returns its error, `undefined` if there is none. */
export function takeOutcome(location: LocationWithHash, errorKey: string): string | undefined {
  takeFromHash(location, 'code', 'strategy')
  return takeFromHash(location, errorKey)[0]
}

/** Returns the error of a failed login, with the message that the server passed to the page. */
export function createLocationError(message: string): NotAuthenticated {
  const error = new OAuthRejected(message)
  error.name = 'OauthError'
  return error
}

function isOf(name: string, pair: string): boolean {
  return pair.startsWith(`${name}=`)
}

/** Replaces the current entry of the page's history: a new entry would leave the token in the previous one. */
function replaceHash(location: LocationWithHash, hash: string): void {
  const { location: shown, history } = PAGE
  if (location !== shown || shown.href === undefined || history?.replaceState === undefined) {
    location.hash = hash
    return
  }
  const [page = ''] = shown.href.split('#')
  history.replaceState(history.state, '', hash === '' ? page : `${page}#${hash}`)
}

function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    // A `%` in a value that is not percent-encoded is literal.
    return value
  }
}

/**
 * Resolves to the result of a login with the code and strategy that an external login has left in a hash; `null` if
 * they are missing. Removes both from the hash: a code is single-use.
 * @throws {NotAuthenticated} the server rejects the code; the error's name is `OauthError`
 * @throws {Unavailable} the server does not respond
 * @throws {Timeout} it does not respond in time
 */
export async function exchangeCode(
  location: LocationWithHash,
  service: Pick<LoginService, 'create'>,
): Promise<LoginResult | null> {
  const [code, strategy] = takeFromHash(location, 'code', 'strategy')
  if (!code || !strategy) return null
  try {
    return await service.create({ strategy, code })
  } catch (error) {
    throw isRefusal(error) ? createLocationError((error as Error).message) : error
  }
}

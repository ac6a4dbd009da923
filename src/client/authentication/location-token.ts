import { GeneralError, NotAuthenticated } from '../../core/errors/index.ts'
import { isNonEmptyString } from '../../core/value-kind.ts'
import type { LoginResult, LoginService } from './login-result.ts'
import { isRefusal } from './login-state.ts'

/** The part of `window.location` that may hold a token. */
export interface LocationWithHash {
  /** What stands behind the `#`, with it. */
  hash: string
}

interface Page {
  readonly location?: (LocationWithHash & { readonly href?: string }) | null
  readonly history?: {
    readonly state: unknown
    replaceState?(state: unknown, title: string, url: string): void
  }
}

/** The page that a browser shows; elsewhere there is none. */
const PAGE = globalThis as Page

/** The names in a hash under which a login elsewhere leaves its token, or its error. */
interface HashNames {
  readonly locationKey: string
  readonly locationErrorKey: string
}

const NO_LOGIN: Promise<string | null> = /* @__PURE__ */ Promise.resolve(null)

/** The login that the page was opened with. */
export class PageLogin {
  /** Its token, or why it has failed: kept until somebody logs in, since it is no longer in the URL then. */
  #token = NO_LOGIN
  /** What the server has answered to the code in the URL. */
  #codeResult: LoginResult | null = null

  /**
   * Resolves to the token in the hash of a URL, or that for a code there; `null` for none.
   * @throws {NotAuthenticated} there is an error, or the server rejects the code; with the name `OauthError`
   * @throws {GeneralError} the server answers to the code without a token
   */
  async read(
    location: LocationWithHash,
    { locationKey, locationErrorKey }: HashNames,
    service: LoginService,
  ): Promise<string | null> {
    const [accessToken] = takeFromHash(location, locationKey)
    if (accessToken) return accessToken
    const [message] = takeFromHash(location, locationErrorKey)
    if (message !== undefined) throw createLocationError(message)
    const result = await exchangeCode(location, service)
    if (result === null) return null
    this.#codeResult = result
    if (isNonEmptyString(result.accessToken)) return result.accessToken
    throw new GeneralError('The server has answered a login without an access token')
  }

  /** Keeps the token that was read, if there was one. Resolves when all reading is done. */
  async remember(reading: Promise<string | null>): Promise<void> {
    const before = this.#token
    this.#token = reading.then((accessToken) => accessToken ?? before)
    // Exchanging a code takes a request: concurrent callers wait for the same token.
    await Promise.allSettled([before, this.#token])
  }

  /** Resolves to the token, once; `null` for none. Rejects with why the login has failed. */
  take(): Promise<string | null> {
    const token = this.#token
    this.#token = NO_LOGIN
    return token
  }

  /** Returns what the server has answered to the code with this token, `null` for nothing. */
  findResult(accessToken: string): LoginResult | null {
    return this.#codeResult?.accessToken === accessToken ? this.#codeResult : null
  }
}

/** Returns the location of the page, `undefined` outside of browsers. */
export function findLocation(): LocationWithHash | undefined {
  return PAGE.location ?? undefined
}

/** Returns the values of names in the hash, and takes them out; nothing unless all are there. */
export function takeFromHash(location: LocationWithHash, ...names: string[]): string[] {
  // Outside of browsers, a location may lack it.
  const hash = typeof location.hash === 'string' ? location.hash.replace(/^#/, '') : ''
  // A router of the page may have put its path there, and a query behind that.
  const [route = ''] = /^[^?&=]*\?/.exec(hash) ?? []
  const pairs = hash.slice(route.length).split('&')
  const values = names.map((name) => pairs.find((pair) => isOf(name, pair)))
  if (values.includes(undefined)) return []
  const others = pairs.filter((pair) => !names.some((name) => isOf(name, pair)))
  const isBare = others.length === 0
  replaceHash(location, isBare ? route.replace('?', '') : route + others.join('&'))
  return values.map((pair = '') => decode(pair.slice(pair.indexOf('=') + 1)))
}

/** Takes the outcome of a login elsewhere out of a hash. Returns its error, `undefined` for none. */
export function takeOutcome(location: LocationWithHash, errorKey: string): string | undefined {
  takeFromHash(location, 'code', 'strategy')
  return takeFromHash(location, errorKey)[0]
}

/** Returns the error that a server sent along with the page: it is one of a login. */
export function createLocationError(message: string): NotAuthenticated {
  const error = new NotAuthenticated(message)
  error.name = 'OauthError'
  return error
}

function isOf(name: string, pair: string): boolean {
  return pair.startsWith(`${name}=`)
}

/**
 * The current entry of the page's history is replaced: a new entry would leave the token in the one
 * before it.
 */
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
    // A `%` in a value that is not percent-encoded stands for itself.
    return value
  }
}

/**
 * Resolves to the result of the login by a code that a login elsewhere has left in a hash, with the name of its
 * strategy; `null` where they are not there. Both are taken out of the hash: a code serves once.
 * @throws {NotAuthenticated} the server refuses the code, with the name `OauthError`
 * @throws {Unavailable} the server does not answer
 * @throws {Timeout} it does not in time
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

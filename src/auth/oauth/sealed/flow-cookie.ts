import { isNonEmptyString } from '../../../core/value-kind.ts'
import { createNotAuthenticated } from '../../auth-errors.ts'
import { openData, sealData } from './sealed-data.ts'

/** A login that has begun at a provider and has not come back yet. */
export interface Flow {
  readonly provider: string
  /** The random text that the provider sends back. */
  readonly state: string
  /** The random text that the id token must name, `null` where the provider sends none. */
  readonly nonce: string | null
  /** Of which the provider knows the hash only. */
  readonly verifier: string
  /** Where the provider sends the browser. */
  readonly redirectUri: string
  /** The name of the override of the settings, `null` for none. */
  readonly override: string | null
  /** What is appended to the address of the page after the login. */
  readonly redirect: string | null
  /** The origin of the page that the login began on, `null` where the browser did not say. */
  readonly referer: string | null
  /** The access token of the account to link, `null` for a plain login. */
  readonly accessToken: string | null
  /** Further query parameters of the start, `params.query` of the login. */
  readonly query: Readonly<Record<string, unknown>>
}

/** How long people may take at the provider. */
export const FLOW_LIFETIME_SECONDS = 600

/** Browsers drop a cookie of more than 4,096 bytes, with its name and attributes. */
const MAX_COOKIE_LENGTH = 3800

/** What people are told who come back from a provider that they were not sent to from here. */
export const NO_FLOW =
  'No valid oAuth response. You must initiate the oAuth flow from the authorize endpoint.'

/**
 * The cookie that keeps a flow in the browser it was begun in, encrypted. It is sent to the callback
 * of its provider only.
 */
export class FlowCookie {
  readonly #name: string
  readonly #attributes: string

  /**
   * @param redirectUri the callback, under which the browser gets and sends the cookie
   * @param isCrossSite whether the provider answers by a form of its own, with which browsers send
   *   no other cookies
   */
  constructor(provider: string, redirectUri: string, isCrossSite: boolean) {
    const { protocol, pathname } = new URL(redirectUri)
    const isSecure = protocol === 'https:'
    this.#name = `${isSecure ? '__Secure-' : ''}remex-oauth-${provider}`
    const site = isCrossSite ? 'None' : 'Lax'
    // Browsers demand Secure beside None, and accept it from this computer without TLS.
    const secure = isSecure || isCrossSite ? '; Secure' : ''
    // Below a prefix with parameters callers choose a part of the path, which must stay one.
    const path = pathname.replaceAll(';', '%3B')
    this.#attributes = `Path=${path}; HttpOnly${secure}; SameSite=${site}`
  }

  /** Returns the header that stores a flow, `null` where it is too long for a cookie. */
  async store(flow: Flow, secrets: readonly string[]): Promise<string | null> {
    const sealed = await sealData('oauth-flow', { ...flow }, secrets, FLOW_LIFETIME_SECONDS)
    const header = `${this.#name}=${sealed}; Max-Age=${FLOW_LIFETIME_SECONDS}; ${this.#attributes}`
    return header.length > MAX_COOKIE_LENGTH ? null : header
  }

  /** The header that has the browser forget the flow. */
  get removal(): string {
    return `${this.#name}=; Max-Age=0; ${this.#attributes}`
  }

  /**
   * Returns the flow of a request.
   * @param header the header `cookie`
   * @throws {NotAuthenticated} there is none, or more than one, or one that is too old
   */
  async read(header: unknown, secrets: readonly string[]): Promise<Flow> {
    const values = String(header ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${this.#name}=`))
      .map((pair) => pair.slice(this.#name.length + 1))
    const [sealed] = values
    // A second cookie of the name comes from a neighbouring host, to be taken for this one's.
    if (!isNonEmptyString(sealed) || values.length > 1) {
      const reason = values.length > 1 ? 'two flows at once' : 'no flow was begun in this browser'
      throw createNotAuthenticated(NO_FLOW, undefined, { reason })
    }
    return (await openData('oauth-flow', sealed, secrets, NO_FLOW)) as unknown as Flow
  }
}

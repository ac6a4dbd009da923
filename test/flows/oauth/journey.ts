import type { Collection, Document } from 'mongodb'
import type { OAuthSettings, ProviderSection } from '../../../src/auth/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import type { FollowOptions, Page } from '../../support/oauth/cookie-browser.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import type { OAuthApp, OAuthAppOptions } from '../../support/oauth/oauth-app.ts'
import { startOAuthApp } from '../../support/oauth/oauth-app.ts'
import type { OpenIdServer } from '../../support/oauth/openid-server.ts'
import { startOpenIdServer } from '../../support/oauth/openid-server.ts'

const CLIENT_SECRET = 'a secret of at least thirty-two characters'

const ANN = { email: 'ann@example.com', email_verified: true, name: 'Ann' }

/** Who can log in at the provider. */
const ACCOUNTS = { ann: ANN, bob: {}, eve: {} }

export interface JourneyOptions extends Omit<Partial<OAuthAppOptions>, 'oauth' | 'users'> {
  /** The section `oauth`, without providers. Default: `{ redirect: '/home' }`. */
  readonly oauth?: OAuthSettings
  /** Over the usual section of the provider `example`. */
  readonly section?: ProviderSection
  /** URLs of callbacks beside those that the application has by itself. */
  readonly redirectUris?: readonly string[]
}

/** People, a provider, and an application that they log in to; the provider goes by two names. */
export interface Journey {
  readonly app: OAuthApp
  readonly provider: OpenIdServer
  readonly users: Collection
  readonly browser: CookieBrowser
  /** Where a login begins: `/oauth/example` of the application. */
  readonly start: string
  /** Where one begins with the same provider by its other name. */
  readonly startOther: string
}

/** The part of a tap test that opens things here. */
interface TestScope {
  teardown(close: () => unknown): void
}

/** Starts a provider, and an application with the sections `example` and `other` for it. */
export async function startJourney(
  t: TestScope,
  database: TestDatabase,
  options: JourneyOptions = {},
): Promise<Journey> {
  const { oauth = { redirect: '/home' }, section, redirectUris = [], ...others } = options
  const provider = await startOpenIdServer({ accounts: ACCOUNTS })
  t.teardown(provider.close)
  const users = await database.empty('users')
  const usual = toSection(provider)
  const app = await startOAuthApp({
    users,
    oauth: { ...oauth, example: { ...usual, ...section }, other: usual },
    ...others,
  })
  t.teardown(app.close)
  const start = `${app.url}${oauth.defaults?.prefix ?? '/oauth'}/example`
  const startOther = start.replace(/example$/, 'other')
  addClient(provider, [`${start}/callback`, `${startOther}/callback`, ...redirectUris])
  return { app, provider, users, browser: new CookieBrowser(), start, startOther }
}

/** Returns the section of an application that the provider knows by `addClient()`. */
export function toSection({ issuer }: OpenIdServer): ProviderSection {
  const client = { key: 'app', secret: CLIENT_SECRET }
  return { ...client, issuer, allowPrivateNetwork: true, scope: ['email', 'profile'] }
}

/** Lets the provider send people back to these URLs, and no others. */
export function addClient(provider: OpenIdServer, redirectUris: readonly string[]): void {
  provider.addClient({
    client_id: 'app',
    client_secret: CLIENT_SECRET,
    redirect_uris: [...redirectUris],
  })
}

/** Ends a journey at the page after the login, which nothing need serve. */
export const AT_PAGE: FollowOptions = { stopAt: (url) => url.hash !== '' }

/** Ends a journey at the provider, whose answer the application has not got yet. */
export const AT_CALLBACK: FollowOptions = { stopAt: (url) => url.pathname.endsWith('/callback') }

/**
 * Logs in at the provider where it asks for that, and agrees to what it asks. A login that is to be
 * linked begins on a page of the application.
 */
export function logIn(
  browser: CookieBrowser,
  start: string,
  account: string,
  options: FollowOptions = AT_PAGE,
): Promise<Page> {
  const opened = start.includes('feathers_token')
    ? browser.follow(start, { referer: start, ...options })
    : browser.follow(start, options)
  return fillForms(browser, opened, account, options)
}

/** Goes on from a page of the provider, or of one that sends people on by a form. */
export async function fillForms(
  browser: CookieBrowser,
  opened: Page | Promise<Page>,
  account: string,
  options: FollowOptions = AT_PAGE,
): Promise<Page> {
  let page = await opened
  while (page.location === null && page.text.includes('<form')) {
    page = await browser.submit(
      page,
      page.text.includes('name="account"') ? { account } : {},
      options,
    )
  }
  return page
}

/** Returns what the page after a login is told, in its fragment. */
export function outcomeOf({ location }: Page): Record<string, string> {
  const { hash } = new URL(location ?? 'none:')
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#(?:[^?=]*\?)?/, '')))
}

/** Returns the access token that the page after a login gets, `''` for none. */
export function tokenOf(page: Page): string {
  return outcomeOf(page)['access_token'] ?? ''
}

/** Returns the body of an answer. */
export function bodyOf({ text }: Page): Record<string, unknown> {
  return JSON.parse(text)
}

/** Resolves to the user behind an access token, `undefined` where it is not accepted. */
export async function userOf(app: OAuthApp, accessToken: string): Promise<Document | undefined> {
  const { body } = await app.getMe(accessToken)
  return (body as { user?: Document }).user
}

/** Sends a form or JSON, as a script of a page does. */
export async function post(url: string, data: object | URLSearchParams, headers = {}) {
  const isForm = data instanceof URLSearchParams
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'manual',
    headers: isForm ? headers : { 'content-type': 'application/json', ...headers },
    body: isForm ? data : JSON.stringify(data),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text }
}

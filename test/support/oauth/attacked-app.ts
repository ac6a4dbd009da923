import type { Test } from 'tap'
import type { OAuthSettings } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { openDatabase } from '../database.ts'
import type { LyingOpenIdServer } from './lying-openid-server.ts'
import { startLyingOpenIdServer } from './lying-openid-server.ts'
import type { OAuthApp, OAuthAppOptions } from './oauth-app.ts'
import { startOAuthApp } from './oauth-app.ts'

export interface AttackedAppOptions
  extends Pick<OAuthAppOptions, 'settings' | 'strategies' | 'server'> {
  /** Beside the providers; default a page at `/home`. */
  readonly oauth?: OAuthSettings
  /** Over the settings of both providers. */
  readonly section?: Readonly<Record<string, unknown>>
}

/** A login that was begun, and confirmed by the provider. */
export interface BegunLogin {
  /** The header `set-cookie` of the start. */
  readonly setCookie: string
  /** The header `cookie` that a browser sends to the callback. */
  readonly cookie: string
  /** The URL of the callback, with code, state and iss. */
  readonly callback: string
  /** The URL of the provider's page. */
  readonly page: URL
}

/** How one request is sent, over a real socket; redirects are not followed. */
export interface SentRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface AttackedApp extends OAuthApp {
  /** The provider `example`. */
  readonly provider: LyingOpenIdServer
  /** The provider `other`. */
  readonly other: LyingOpenIdServer
  /** Names of the methods of the users that were called. */
  readonly calls: string[]
  send(path: string, request?: SentRequest): Promise<Response>
  /** Begins a login and goes to the provider, which sends the browser back at once. */
  begin(start?: string, headers?: Readonly<Record<string, string>>): Promise<BegunLogin>
  /** Opens the callback of a login, in the browser that has begun it unless a cookie is given. */
  finish(login: BegunLogin, cookie?: string): Promise<Response>
  /** What has changed since the last time: paths asked of the providers, and calls of the users. */
  takeTraces(): string[]
}

/** Starts an application with two providers that can lie, which notes what is asked of whom. */
export async function startAttackedApp(
  t: Test,
  { oauth = { redirect: '/home' }, section, ...options }: AttackedAppOptions = {},
): Promise<AttackedApp> {
  const database = await openDatabase(t)
  const [provider, other] = await Promise.all([startLyingOpenIdServer(), startLyingOpenIdServer()])
  const toSection = ({ issuer, client }: LyingOpenIdServer) => ({
    ...{ issuer, key: client.key, secret: client.secret, allowPrivateNetwork: true },
    ...section,
  })
  const app = await startOAuthApp({
    users: await database.empty('users'),
    oauth: { ...oauth, example: toSection(provider), other: toSection(other) },
    // Attacks of many tests come from one address.
    settings: { authStrategies: ['jwt', 'example', 'other'], loginThrottle: false },
    ...options,
  })
  t.teardown(async () => {
    await app.close()
    await Promise.all([provider.close(), other.close()])
  })
  const calls: string[] = []
  const note = async ({ method }: HookContext, next: () => Promise<void>) => {
    calls.push(method)
    await next()
  }
  app.authentication.app.service('users').hooks({ around: { all: [note] } })
  const send = (path: string, request: SentRequest = {}) =>
    fetch(new URL(path, app.origin), { ...request, redirect: 'manual' })
  const seen = { provider: 0, other: 0 }
  return {
    ...app,
    ...{ provider, other, calls, send },
    async begin(start = '/oauth/example', headers = {}) {
      const started = await send(start, { headers })
      const [setCookie = ''] = started.headers.getSetCookie()
      const page = new URL(started.headers.get('location') ?? 'none:')
      const callback = (await send(page.href)).headers.get('location') ?? 'none:'
      return { setCookie, cookie: setCookie.split(';')[0] ?? '', callback, page }
    },
    finish: ({ callback, cookie: own }, cookie = own) => send(callback, { headers: { cookie } }),
    takeTraces() {
      const asked = [
        ...provider.requests.slice(seen.provider),
        ...other.requests.slice(seen.other),
      ].map(({ path }) => path)
      seen.provider = provider.requests.length
      seen.other = other.requests.length
      return [...asked, ...calls.splice(0)]
    },
  }
}

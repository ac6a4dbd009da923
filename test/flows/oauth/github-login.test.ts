import type { Test } from 'tap'
import t from 'tap'
import type { OAuthProfile } from '../../../src/auth/index.ts'
import { OAuthStrategy } from '../../../src/auth/index.ts'
import { openDatabase } from '../../support/database.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import type { GitHubServer, GitHubServerOptions } from '../../support/oauth/github-server.ts'
import { startGitHubServer } from '../../support/oauth/github-server.ts'
import { startOAuthApp } from '../../support/oauth/oauth-app.ts'
import { AT_CALLBACK, AT_PAGE, logIn, outcomeOf, startJourney, tokenOf, userOf } from './journey.ts'

const database = await openDatabase(t)

/** Notes the profiles, and stores the address of those that have a verified one. */
class NotingStrategy extends OAuthStrategy {
  readonly profiles: OAuthProfile[] = []

  override async getEntityData(
    ...[profile, ...others]: Parameters<OAuthStrategy['getEntityData']>
  ) {
    this.profiles.push(profile)
    const email = this.getVerifiedEmail(profile)
    const data = await super.getEntityData(profile, ...others)
    return email === null ? data : { ...data, email }
  }
}

function toSection({ client, urls: { emails_url: email_url, ...urls } }: GitHubServer) {
  return { ...client, ...urls, email_url, allowPrivateNetwork: true }
}

async function start(t: Test, options?: GitHubServerOptions) {
  const github = await startGitHubServer(options)
  t.teardown(() => github.close())
  const users = await database.empty('users')
  const strategy = new NotingStrategy()
  const app = await startOAuthApp({
    users,
    oauth: { redirect: '/home', github: toSection(github) },
    strategies: { github: strategy },
  })
  t.teardown(app.close)
  return {
    app,
    github,
    users,
    strategy,
    start: `${app.url}/oauth/github`,
    browser: new CookieBrowser(),
  }
}

t.test('logs somebody in at GitHub, and the same person again', async (t) => {
  const { app, github, users, strategy, start: url, browser } = await start(t)
  const page = await browser.follow(`${url}?redirect=/notes`, AT_PAGE)
  t.equal(page.location?.split('#')[0], `${app.origin}/home/notes`)
  const first = await userOf(app, tokenOf(page))
  t.match(first, { githubId: '583231', email: 'octocat@example.com' })
  t.match(strategy.profiles, [
    { id: 583231, login: 'octocat', email: 'octocat@example.com', email_verified: true },
  ])
  const again = await browser.follow(url, AT_PAGE)
  t.same(await userOf(app, tokenOf(again)), first)
  t.equal(await users.countDocuments(), 1)
  const [asked] = github.requests.filter(({ path }) => path === '/login/oauth/authorize')
  t.match(Object.fromEntries(asked?.query ?? []), {
    scope: 'read:user user:email',
    code_challenge_method: 'S256',
  })
})

t.test('finds the account of somebody whose id is stored as a number', async (t) => {
  const { app, users, start: url, browser } = await start(t)
  const { insertedId } = await users.insertOne({ githubId: 583231, name: 'Octo' })
  const user = await userOf(app, tokenOf(await browser.follow(url, AT_PAGE)))
  t.match(user, { _id: String(insertedId), githubId: '583231', name: 'Octo' })
  t.equal(await users.countDocuments(), 1)
})

t.test('keeps the accounts of two people apart, also in one browser', async (t) => {
  const { app, github, users, start: url, browser } = await start(t, { emails: [] })
  const first = await userOf(app, tokenOf(await browser.follow(url, AT_PAGE)))
  github.user = { id: 5832310, login: 'other', name: null, email: null }
  const second = await userOf(app, tokenOf(await browser.follow(url, AT_PAGE)))
  t.match(second, { githubId: '5832310' })
  t.not(first?.['_id'], second?.['_id'])
  t.equal(await users.countDocuments(), 2)
})

t.test('takes only a main address that is verified', async (t) => {
  const email = 'octocat@example.com'
  const lists = [
    [],
    [{ email, primary: true, verified: false }],
    [{ email, primary: false, verified: true }],
  ]
  for (const emails of lists) {
    const {
      app,
      start: url,
      browser,
    } = await start(t, {
      emails,
      user: { id: 1, login: 'o', name: null, email: 'public@example.com' },
    })
    const user = await userOf(app, tokenOf(await browser.follow(url, AT_PAGE)))
    t.match(user, { githubId: '1' })
    t.notOk('email' in (user ?? {}))
  }
})

t.test('logs in without an address where the application may not ask for one', async (t) => {
  const { app, github, start: url, browser } = await start(t)
  for (const status of [401, 403, 404]) {
    github.answerWith('/user/emails', { status, body: { message: 'Not Found' } })
    const user = await userOf(app, tokenOf(await browser.follow(url, AT_PAGE)))
    t.match(user, { githubId: '583231' }, String(status))
    t.notOk('email' in (user ?? {}))
  }
  github.answerWith('/user/emails', { status: 502, body: 'Bad Gateway' })
  t.match(outcomeOf(await browser.follow(url, AT_PAGE)), { error: /github/ })
})

t.test('tells the page of errors that GitHub answers with status 200', async (t) => {
  const { app, github, users, start: url, browser } = await start(t)
  const error = 'incorrect_client_credentials'
  const error_description = 'The client_id and/or client_secret passed are incorrect.'
  github.answerWith('/login/oauth/access_token', { body: { error, error_description } })
  t.same(outcomeOf(await browser.follow(url, AT_PAGE)), {
    error: 'github did not confirm the login',
  })
  t.match(app.log.join('\n'), /incorrect_client_credentials/)
  t.notMatch(app.log.join('\n'), new RegExp(github.client.secret))
  t.equal(await users.countDocuments(), 0)
})

t.test('refuses a code that is not the one of the flow, and one that is used', async (t) => {
  const { users, start: url, browser } = await start(t)
  const { location } = await browser.follow(url, AT_CALLBACK)
  const answer = new URL(location ?? '')
  answer.searchParams.set('code', '0123456789')
  t.match(outcomeOf(await browser.follow(answer.href, AT_PAGE)), { error: /did not confirm/ })
  t.equal((await browser.open(location ?? '')).status, 401)
  t.equal(await users.countDocuments(), 0)
})

t.test('tells the page that somebody has refused, who can try again', async (t) => {
  const { app, github, start: url, browser } = await start(t)
  github.decision = 'refuse'
  t.same(outcomeOf(await browser.follow(url, AT_PAGE)), {
    error: 'You have not let us know who you are at github',
  })
  github.decision = 'accept'
  const page = await browser.follow(url, AT_PAGE)
  t.match(await userOf(app, tokenOf(page)), { githubId: '583231' })
})

t.test('logs in where a challenge is ignored, and where an issuer is named', async (t) => {
  const { app, github, start: url, browser } = await start(t, { pkce: 'ignored' })
  t.match(await userOf(app, tokenOf(await browser.follow(url, AT_PAGE))), { githubId: '583231' })
  github.iss = 'https://evil.test'
  t.match(outcomeOf(await browser.follow(url, AT_PAGE)), { error: /did not confirm/ })
})

t.test('takes an id of digits as it is, also at the callback', async (t) => {
  const {
    app,
    github,
    start: url,
    browser,
  } = await start(t, {
    user: { id: '0012', login: 'zero', name: null, email: null },
    emails: [],
  })
  t.match(await userOf(app, tokenOf(await browser.follow(url, AT_PAGE))), { githubId: '0012' })
  github.user = { id: 12, login: 'twelve', name: null, email: null }
  t.match(await userOf(app, tokenOf(await browser.follow(url, AT_PAGE))), { githubId: '12' })
})

t.test('links an account at GitHub and one at an OpenID provider, either way round', async (t) => {
  const github = await startGitHubServer()
  t.teardown(() => github.close())
  const oauth = { redirect: '/home', github: toSection(github) }
  const { app, users, browser, start: openid } = await startJourney(t, database, { oauth })
  const url = `${app.url}/oauth/github`
  for (const [first, second] of [[openid, url] as const, [url, openid] as const]) {
    await users.deleteMany({})
    const token = tokenOf(await logIn(browser, first, 'ann'))
    const page = await logIn(browser, `${second}?feathers_token=${token}`, 'ann')
    t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann', githubId: '583231' })
    t.equal(await users.countDocuments(), 1)
  }
})

import t from 'tap'
import { CollectionRevocationList } from '../../../src/auth/index.ts'
import { openDatabase } from '../../support/database.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import type { OAuthApp } from '../../support/oauth/oauth-app.ts'
import { startOAuthApp } from '../../support/oauth/oauth-app.ts'
import { SECRET } from '../../support/users.ts'
import type { Journey } from './journey.ts'
import {
  AT_CALLBACK,
  AT_PAGE,
  logIn,
  outcomeOf,
  startJourney,
  tokenOf,
  toSection,
  userOf,
} from './journey.ts'

const database = await openDatabase(t)

/** The origin of a site that several processes serve. */
const SITE = 'https://app.test'

const SHARED = {
  oauth: { redirect: '/home', defaults: { origin: SITE } },
  redirectUris: [`${SITE}/oauth/example/callback`],
}

/** Starts another process of the same application. */
async function startSecond(
  t: { teardown(close: () => unknown): void },
  { users, provider }: Journey,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<OAuthApp> {
  const oauth = { ...SHARED.oauth, example: toSection(provider) }
  const second = await startOAuthApp({ users, oauth, settings })
  t.teardown(second.close)
  return second
}

t.test('a flow that one process has begun ends at another', async (t) => {
  const journey = await startJourney(t, database, SHARED)
  const second = await startSecond(t, journey)
  const proxies: Record<string, string> = { [SITE]: journey.app.origin }
  const browser = new CookieBrowser({ proxies })
  const { location } = await logIn(browser, `${SITE}/oauth/example`, 'ann', AT_CALLBACK)
  proxies[SITE] = second.origin
  const token = tokenOf(await browser.follow(location ?? '', AT_PAGE))
  t.match(await userOf(second, token), { exampleId: 'ann' })
  t.match(await userOf(journey.app, token), { exampleId: 'ann' })
})

t.test('flows that were begun before the secret has changed still end', async (t) => {
  const journey = await startJourney(t, database, SHARED)
  const newest = 'another secret of the tests, with 32 bytes too'
  const second = await startSecond(t, journey, { secret: [newest, SECRET] })
  const third = await startSecond(t, journey, { secret: newest })
  const proxies: Record<string, string> = { [SITE]: journey.app.origin }
  const flows = []
  for (const target of [second, third]) {
    const browser = new CookieBrowser({ proxies })
    flows.push({
      target,
      browser,
      page: await logIn(browser, `${SITE}/oauth/example`, 'ann', AT_CALLBACK),
    })
  }
  const ends = []
  for (const { target, browser, page } of flows) {
    proxies[SITE] = target.origin
    ends.push(await browser.follow(page.location ?? '', AT_PAGE))
  }
  const [known, unknown] = ends
  t.match(await userOf(second, tokenOf(known as never)), { exampleId: 'ann' })
  t.equal(unknown?.status, 401, 'the secret that it was begun with is gone')

  proxies[SITE] = second.origin
  const browser = new CookieBrowser({ proxies })
  const { location } = await logIn(browser, `${SITE}/oauth/example`, 'ann', AT_CALLBACK)
  proxies[SITE] = third.origin
  const token = tokenOf(await browser.follow(location ?? '', AT_PAGE))
  t.match(await userOf(third, token), { exampleId: 'ann' }, 'the first of the list seals')
})

t.test('a flow ends once, where processes share the list of what was used', async (t) => {
  const list = new CollectionRevocationList(database.db.collection('revoked'))
  const journey = await startJourney(t, database, { ...SHARED, settings: { revocation: list } })
  const second = await startSecond(t, journey, { revocation: list })
  const browser = new CookieBrowser({ proxies: { [SITE]: journey.app.origin } })
  const { location } = await logIn(browser, `${SITE}/oauth/example`, 'ann', AT_CALLBACK)
  const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  t.not(tokenOf(await browser.follow(location ?? '', AT_PAGE)), '')
  const copy = (location ?? '').replace(SITE, second.origin)
  const answer = await fetch(copy, { headers: { cookie }, redirect: 'manual' })
  // The provider has redeemed its code already, and would be asked in vain.
  t.match(answer.headers.get('location'), /#error=/)
  t.match(second.log.join('\n'), /"reason":"(?:it was used|invalid_grant)/)
  t.equal(await database.db.collection('revoked').countDocuments(), 1, 'it is noted for all')
})

t.test('first logins of one person in ten browsers at once make one account', async (t) => {
  const { app, users, start } = await startJourney(t, database)
  const ends: (() => Promise<Record<string, string>>)[] = []
  for (let index = 0; index < 10; index += 1) {
    const browser = new CookieBrowser()
    const { location } = await logIn(browser, start, 'ann', AT_CALLBACK)
    ends.push(async () => outcomeOf(await browser.follow(location ?? '', AT_PAGE)))
  }
  const outcomes = await Promise.all(ends.map((end) => end()))
  t.same(
    outcomes.flatMap(({ error = [] }) => error),
    [],
  )
  const found = await Promise.all(
    outcomes.map(({ access_token = '' }) => userOf(app, access_token)),
  )
  t.equal(new Set(found.map((user) => user?.['_id'])).size, 1)
  t.match(found[0], { exampleId: 'ann' })
  t.equal(await users.countDocuments(), 1)
})

t.test('refuses an account with the details of another', async (t) => {
  const { app, users, browser, start } = await startJourney(t, database, {
    extend(app) {
      const addEmail = ({ data }: { data?: { email?: string } }) => {
        if (data !== undefined) data.email = 'shared@example.com'
      }
      app
        .service('users')
        .hooks({ before: { create: [addEmail as never], patch: [addEmail as never] } })
    },
  })
  await users.createIndex({ email: 1 }, { unique: true, sparse: true })
  await users.insertOne({ email: 'shared@example.com' })
  const error = 'There is an account with these details: log in to it, then link this one'
  t.same(outcomeOf(await logIn(browser, start, 'ann')), { error })
  t.equal(await users.countDocuments(), 1)
  await users.insertOne({ exampleId: 'ann' })
  t.same(outcomeOf(await logIn(browser, start, 'ann')), { error }, 'when it has changed')
  t.notMatch(app.log.join('\n'), /shared@/)
  await users.dropIndex('email_1')
})

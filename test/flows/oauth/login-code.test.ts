import t from 'tap'
import { CollectionRevocationList } from '../../../src/auth/index.ts'
import { atTime, now } from '../../auth/login-app.ts'
import { openDatabase } from '../../support/database.ts'
import { startOAuthApp } from '../../support/oauth/oauth-app.ts'
import type { JourneyOptions } from './journey.ts'
import {
  AT_CALLBACK,
  AT_PAGE,
  logIn,
  outcomeOf,
  post,
  startJourney,
  toSection,
  userOf,
} from './journey.ts'

const database = await openDatabase(t)

const CODE: JourneyOptions = {
  oauth: { redirect: '/home', defaults: { response: 'code' } },
  settings: { authStrategies: ['jwt', 'example', 'other'] },
}

/** Exchanges a code; resolves to the status and the body. */
async function exchange(url: string, strategy: string, code: string | undefined) {
  const { status, text } = await post(`${url}/authentication`, { strategy, code })
  return { status, body: JSON.parse(text) }
}

t.test('gives the page a code, which it exchanges once', async (t) => {
  const { app, browser, start } = await startJourney(t, database, CODE)
  const outcome = outcomeOf(await logIn(browser, start, 'ann'))
  t.same(Object.keys(outcome), ['code', 'strategy'])
  t.equal(outcome['strategy'], 'example')
  const { status, body } = await exchange(app.url, 'example', outcome['code'])
  t.equal(status, 201)
  t.match(body, { authentication: { strategy: 'example' }, user: { exampleId: 'ann' } })
  t.match(await userOf(app, body.accessToken), { exampleId: 'ann' })
  t.match(await exchange(app.url, 'example', outcome['code']), {
    status: 401,
    body: { message: 'The code is not valid any more: log in again' },
  })
})

t.test('refuses a code of another strategy, which is not used up by that', async (t) => {
  const { app, browser, start } = await startJourney(t, database, CODE)
  const { code } = outcomeOf(await logIn(browser, start, 'ann'))
  t.match(await exchange(app.url, 'other', code), { status: 401 })
  t.match(await exchange(app.url, 'jwt', code), { status: 401 })
  t.match(await exchange(app.url, 'example', `${code}x`), { status: 401 })
  t.match(await exchange(app.url, 'example', code), { status: 201 })
})

t.test('a code serves for a minute', async (t) => {
  const { app, browser, start } = await startJourney(t, database, CODE)
  const codeOf = async (age: number) => {
    const { location } = await logIn(browser, start, 'ann', AT_CALLBACK)
    const end = () => browser.follow(location ?? '', AT_PAGE)
    return outcomeOf(await atTime((now() - age) * 1000, end))['code']
  }
  t.match(await exchange(app.url, 'example', await codeOf(50)), { status: 201 })
  t.match(await exchange(app.url, 'example', await codeOf(61)), { status: 401 })
})

t.test('of several exchanges of one code at once, one wins', async (t) => {
  const { app, browser, start } = await startJourney(t, database, CODE)
  const { code } = outcomeOf(await logIn(browser, start, 'ann'))
  const ten = Array.from({ length: 10 }, () => exchange(app.url, 'example', code))
  const statuses = (await Promise.all(ten)).map(({ status }) => status).sort()
  t.same(statuses, [201, ...Array(9).fill(401)])
})

t.test('a code is no flow, and no access token', async (t) => {
  const { app, browser, start } = await startJourney(t, database, CODE)
  const { code = '' } = outcomeOf(await logIn(browser, start, 'ann'))
  t.equal((await app.getMe(code)).status, 401)
  const flow = (await browser.open(start)).headers.getSetCookie()[0] ?? ''
  const sealed = /=([^;]*);/.exec(flow)?.[1]
  t.match(await exchange(app.url, 'example', sealed), { status: 401 })
})

t.test('a code of somebody who is gone by then is refused', async (t) => {
  const { app, users, browser, start } = await startJourney(t, database, CODE)
  const { code } = outcomeOf(await logIn(browser, start, 'ann'))
  await users.deleteMany({})
  t.match(await exchange(app.url, 'example', code), { status: 401 })
})

t.test('a code tells of an account whose id callers outside do not see', async (t) => {
  const { app, browser, start } = await startJourney(t, database, {
    ...CODE,
    extend: (app) =>
      app.service('users').hooks({
        after: {
          get: [
            (context: { result: object; dispatch?: unknown }) => {
              const { _id, ...seen } = context.result as { _id?: unknown }
              context.dispatch = seen
            },
          ] as never,
        },
      }),
  })
  const { code } = outcomeOf(await logIn(browser, start, 'ann'))
  t.type(code, 'string')
  const strategy = app.authentication.getStrategy('example')
  const result = await strategy?.authenticate({ strategy: 'example', code }, {})
  t.match(result, { user: { exampleId: 'ann' } })
})

t.test('of two processes that share a list, one exchanges a code', async (t) => {
  const list = new CollectionRevocationList(database.db.collection('revoked'))
  const settings = { ...CODE.settings, revocation: list }
  const { app, users, provider, browser, start } = await startJourney(t, database, {
    ...CODE,
    settings,
  })
  const section = { ...toSection(provider), response: 'code' as const }
  const second = await startOAuthApp({
    users,
    oauth: { example: section, other: section },
    settings,
  })
  t.teardown(second.close)
  const { code } = outcomeOf(await logIn(browser, start, 'ann'))
  const urls = [app.url, second.url, app.url, second.url]
  const all = await Promise.all(urls.map((url) => exchange(url, 'example', code)))
  t.same(all.map(({ status }) => status).sort(), [201, 401, 401, 401])
})

t.test('links by a login that gives a code', async (t) => {
  const { app, users, browser, start, startOther } = await startJourney(t, database, CODE)
  const { code } = outcomeOf(await logIn(browser, start, 'ann'))
  const { body } = await exchange(app.url, 'example', code)
  const page = await logIn(browser, `${startOther}?feathers_token=${body.accessToken}`, 'ann')
  const linked = await exchange(app.url, 'other', outcomeOf(page)['code'])
  t.match(linked.body, { user: { exampleId: 'ann', otherId: 'ann' } })
  t.equal(await users.countDocuments(), 1)
})

t.test('without a page after the login, the code is in the JSON', async (t) => {
  const oauth = { defaults: { response: 'code' as const } }
  const { app, browser, start } = await startJourney(t, database, { ...CODE, oauth })
  const { location, ...login } = JSON.parse((await logIn(browser, start, 'ann')).text)
  t.equal(location, null)
  t.match(await post(`${app.url}/authentication`, login), { status: 201 })
})

t.test('codes that nothing would exchange fail the start', async (t) => {
  const overrides = { page: { response: 'code' as const } }
  for (const options of [{ oauth: CODE.oauth ?? {} }, { section: { overrides } }]) {
    await t.rejects(startJourney(t, database, options), /'authentication.authStrategies' must name/)
  }
})

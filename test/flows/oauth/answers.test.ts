import t from 'tap'
import { Forbidden } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { startAttackedApp } from '../../support/oauth/attacked-app.ts'
import {
  AT_CALLBACK,
  AT_PAGE,
  bodyOf,
  fillForms,
  logIn,
  outcomeOf,
  startJourney,
  tokenOf,
  userOf,
} from './journey.ts'

const database = await openDatabase(t)

t.test('without a page after the login, the answer is JSON', async (t) => {
  const { app, browser, start } = await startJourney(t, database, { oauth: {} })
  const page = await logIn(browser, start, 'ann')
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /json/)
  t.equal(page.headers.get('cache-control'), 'no-store')
  const body = bodyOf(page)
  t.match(body, {
    location: null,
    authentication: { strategy: 'example' },
    user: { exampleId: 'ann' },
  })
  t.match(await userOf(app, String(body['accessToken'])), { exampleId: 'ann' })
})

t.test('without a page, errors are JSON for programs, and a page for people', async (t) => {
  const { browser, start } = await startJourney(t, database, { oauth: {} })
  const refused = await browser.submit(await browser.follow(start), { action: 'refuse' })
  t.equal(refused.status, 401)
  t.match(refused.headers.get('content-type'), /text\/html/)
  t.match(refused.text, /You have not let us know who you are at example/)
  const program = await fetch(`${start}/callback`)
  t.equal(program.status, 401)
  t.match(program.headers.get('content-type'), /json/)
  t.match(await program.json(), {
    name: 'NotAuthenticated',
    code: 401,
    message:
      'No valid oAuth response. You must initiate the oAuth flow from the authorize endpoint.',
  })
})

t.test('a browser that takes HTML and nothing else logs in, sees errors as pages', async (t) => {
  const headers = { accept: 'text/html' }
  for (const [redirect, status] of [
    ['/home', 303],
    [undefined, 200],
  ] as const) {
    const app = await startAttackedApp(t, { oauth: redirect === undefined ? {} : { redirect } })
    const { cookie, callback } = await app.begin('/oauth/example', headers)
    const ended = await app.send(callback, { headers: { ...headers, cookie } })
    t.equal(ended.status, status)
    t.equal((await app.send('/oauth/example', { headers, method: 'POST' })).status, 303)
    const refused = await app.send('/oauth/example/callback', { headers })
    t.equal(refused.status, 401)
    t.match(refused.headers.get('content-type'), /^text\/html/)
  }
})

t.test('leads back to the origin that a login began on', async (t) => {
  const origins = ['https://one.test', 'https://two.test']
  const { app, browser, start } = await startJourney(t, database, {
    oauth: { redirect: '/home', origins },
  })
  const referer = 'https://two.test/login?a=b'
  const opened = browser.follow(`${start}?redirect=/notes`, { ...AT_PAGE, referer })
  const page = await fillForms(browser, opened, 'ann')
  t.match(page.location, /^https:\/\/two\.test\/notes#access_token=/)
  t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' })
  t.match((await logIn(browser, start, 'ann')).location, /^https:\/\/one\.test\/#access_token=/)
  const foreign = await browser.open(start, { referer: 'https://evil.test/' })
  t.equal(foreign.status, 401)
  t.match(foreign.text, /Referer origin &quot;https:\/\/evil.test&quot; is not allowed/)
  t.equal(foreign.location, null)
})

t.test("leads back by the application's own setting of origins", async (t) => {
  const { browser, start } = await startJourney(t, database, {
    oauth: {},
    extend: (app) =>
      void (app as { set(name: string, value: unknown): unknown }).set('origins', [
        'https://one.test',
      ]),
  })
  t.match((await logIn(browser, start, 'ann')).location, /^https:\/\/one\.test\/#access_token=/)
})

t.test('a page with routes behind the # gets the outcome as their query', async (t) => {
  const { app, browser, start } = await startJourney(t, database, {
    oauth: { redirect: 'https://page.test/app#/login' },
  })
  const page = await logIn(browser, start, 'ann')
  t.match(page.location, /^https:\/\/page\.test\/app#\/login\?access_token=/)
  t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' })
  const refused = await browser.follow(`${start}?feathers_token=no&redirect=/deeper`, {
    referer: start,
    ...AT_PAGE,
  })
  t.match(refused.location, /^https:\/\/page\.test\/app#\/login\/deeper\?error=/)
})

t.test('HEAD begins and ends no flow', async (t) => {
  const { app, browser, start } = await startJourney(t, database)
  const { location } = await logIn(browser, start, 'ann', AT_CALLBACK)
  const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  for (const url of [start, `${start}/callback`, location ?? '']) {
    const answer = await fetch(url, { method: 'HEAD', headers: { cookie }, redirect: 'manual' })
    t.equal(answer.status, 405, url)
    t.equal(answer.headers.get('set-cookie'), null)
  }
  const page = await browser.follow(location ?? '', AT_PAGE)
  t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' }, 'the code was not used up')
})

t.test('does not blame the provider for an error of the application', async (t) => {
  const { app, users, browser, start } = await startJourney(t, database, {
    extend(app) {
      const fail = () => {
        throw Object.assign(new TypeError('secret of the database'), { code: 'E_SOME' })
      }
      app.service('users').hooks({ before: { create: [fail] } })
    },
  })
  const page = await logIn(browser, start, 'ann')
  t.same(outcomeOf(page), { error: 'The login has failed: try again later' })
  t.match(bodyOf(page), { code: 500 })
  t.match(app.log.join('\n'), /"event":"oauth".*"message":"Login failed"/)
  t.equal(await users.countDocuments(), 0)
})

t.test('a hook of the application can refuse new accounts with words of its own', async (t) => {
  const { browser, start } = await startJourney(t, database, {
    extend(app) {
      const refuse = () => {
        throw new Forbidden('Ask Ben for an account')
      }
      app.service('users').hooks({ before: { create: [refuse] } })
    },
  })
  t.same(outcomeOf(await logIn(browser, start, 'ann')), { error: 'Ask Ben for an account' })
})

t.test('refuses a callback without a flow, whatever it brings, and logs why', async (t) => {
  const { app, users, browser, start } = await startJourney(t, database)
  const { location } = await logIn(browser, start, 'ann', AT_CALLBACK)
  const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  const { search } = new URL(location ?? '')
  const reasons: [query: string, cookie: string, reason: RegExp][] = [
    ['', '', /no flow was begun in this browser/],
    [search, '', /no flow was begun in this browser/],
    ['', cookie, /the state is that of another flow/],
    [`${search}&state=another`, cookie, /the parameter 'state' is not a string/],
    [`${search}&code[a]=b`, cookie, /the parameter 'code' is not a string/],
    [search, `${cookie}; ${cookie}`, /two flows at once/],
    [search, 'remex-oauth-example=forged', /"reason":"[^"]+"/],
  ]
  for (const [query, sent, reason] of reasons) {
    const before = app.log.length
    const answer = await fetch(`${start}/callback${query}`, {
      headers: { cookie: sent },
      redirect: 'manual',
    })
    t.equal(answer.status, 401, query)
    t.equal(answer.headers.get('location'), null)
    t.match(app.log.slice(before).join('\n'), reason)
  }
  t.notMatch(app.log.join('\n'), /code=/)
  t.equal(await users.countDocuments(), 0)
  const page = await browser.follow(location ?? '', AT_PAGE)
  t.match(
    await userOf(app, tokenOf(page)),
    { exampleId: 'ann' },
    'none of these has ended the flow',
  )
})

t.test('a slash at the end of a path makes no difference', async (t) => {
  const { app, browser, start } = await startJourney(t, database)
  t.match(await userOf(app, tokenOf(await logIn(browser, `${start}/`, 'ann'))), {
    exampleId: 'ann',
  })
})

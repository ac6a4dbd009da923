import t from 'tap'
import { atTime, now } from '../../auth/login-app.ts'
import { openDatabase } from '../../support/database.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import {
  AT_CALLBACK,
  AT_PAGE,
  fillForms,
  logIn,
  outcomeOf,
  startJourney,
  tokenOf,
  userOf,
} from './journey.ts'

const database = await openDatabase(t)

t.test('a browser forgets a flow after ten minutes', async (t) => {
  const { app, users, start } = await startJourney(t, database)
  let time = 1_000_000
  const browser = new CookieBrowser({ now: () => time })
  const inTime = await logIn(browser, start, 'ann', AT_CALLBACK)
  const [flow] = browser.cookies.filter(({ name }) => name === 'remex-oauth-example')
  t.match(flow, { path: '/oauth/example/callback', httpOnly: true, sameSite: 'Lax' })
  t.equal(flow?.expires, time + 600_000)
  time += 599_000
  t.match(await userOf(app, tokenOf(await browser.follow(inTime.location ?? '', AT_PAGE))), {
    exampleId: 'ann',
  })
  const late = await logIn(browser, start, 'ann', AT_CALLBACK)
  time += 600_000
  const page = await browser.open(late.location ?? '')
  t.equal(page.status, 401)
  t.match(page.text, /You must initiate the oAuth flow/)
  t.equal(await users.countDocuments(), 1)
})

t.test('a flow that was kept for longer is refused', async (t) => {
  const { users, browser, start } = await startJourney(t, database)
  const begun = await atTime((now() - 601) * 1000, () => browser.open(start))
  // It would be dropped at its time: this browser keeps it.
  const cookie = (begun.headers.getSetCookie()[0] ?? '').split(';')[0] ?? ''
  const opened = await browser.follow(begun.location ?? '', AT_CALLBACK)
  const { location } = await fillForms(browser, opened, 'ann', AT_CALLBACK)
  const page = await fetch(location ?? '', { headers: { cookie }, redirect: 'manual' })
  t.equal(page.status, 401)
  t.equal(await users.countDocuments(), 0)
})

t.test('an expired code of the provider is an error of the page', async (t) => {
  const { app, browser, start } = await startJourney(t, database)
  const { location } = await logIn(browser, start, 'ann', AT_CALLBACK)
  const answer = new URL(location ?? '')
  answer.searchParams.set('code', 'another')
  t.same(outcomeOf(await browser.follow(answer.href, AT_PAGE)), {
    error: 'example did not confirm the login',
  })
  t.match(app.log.join('\n'), /invalid_grant/)
  t.notMatch(app.log.join('\n'), /code=|another/)
})

t.test('takes the answer from a form of a provider on another site', async (t) => {
  const section = { custom_params: { response_mode: 'form_post' } }
  const callback = 'https://app.test/oauth/example/callback'
  const { app, start } = await startJourney(t, database, {
    section,
    server: { trustProxy: true },
    redirectUris: [callback],
  })
  const browser = new CookieBrowser({ proxies: { 'https://app.test': app.origin } })
  const outside = start.replace(app.origin, 'https://app.test')
  const form = await logIn(browser, outside, 'ann', {
    stopAt: (url) => url.hash !== '' || url.pathname.endsWith('/callback'),
  })
  const [flow] = browser.cookies.filter(({ name }) => name.includes('remex'))
  t.equal(flow, undefined, 'the flow is forgotten')
  t.same(browser.refused, [])
  t.equal(form.url, callback)
  t.equal(form.status, 303)
  t.match(await userOf(app, tokenOf(form)), { exampleId: 'ann' })

  const begun = await browser.open(outside)
  t.match(
    begun.headers.get('set-cookie'),
    /^__Secure-remex-oauth-example=.*; Secure; SameSite=None$/,
  )
})

t.test('takes a form on this computer, also where only a caller asks for it', async (t) => {
  for (const section of [
    { custom_params: { response_mode: 'form_post' } },
    { dynamic: ['response_mode'] },
  ]) {
    const { app, start } = await startJourney(t, database, { section })
    const browser = new CookieBrowser()
    const local = start.replace('127.0.0.1', 'localhost')
    const page = await logIn(browser, `${local}?response_mode=form_post`, 'ann').catch(
      (error) => error,
    )
    t.match(page, { status: 400 }, 'the provider does not know this callback')
    const known = await logIn(browser, `${start}?response_mode=form_post`, 'ann')
    t.match(await userOf(app, tokenOf(known)), { exampleId: 'ann' })
    const begun = await browser.open(`${start}?response_mode=form_post`)
    t.match(begun.headers.get('set-cookie'), /; Secure; SameSite=None$/)
  }
})

t.test('follows the provider to other keys', async (t) => {
  const { app, provider, browser, start } = await startJourney(t, database)
  const first = await userOf(app, tokenOf(await logIn(browser, start, 'ann')))
  // Unknown keys have the keys fetched, though not twice within a minute.
  const inMinutes = <T>(minutes: number, run: () => Promise<T>): Promise<T> =>
    atTime((now() + minutes * 61) * 1000, run)
  await provider.rotateKeys()
  await inMinutes(2, async () => {
    const page = await logIn(browser, start, 'ann')
    t.same(await userOf(app, tokenOf(page)), first, 'between two logins')
  })
  await inMinutes(4, async () => {
    const { location } = await logIn(browser, start, 'ann', AT_CALLBACK)
    await provider.rotateKeys()
    const page = await browser.follow(location ?? '', AT_PAGE)
    t.same(await userOf(app, tokenOf(page)), first, 'within a login')
  })
})

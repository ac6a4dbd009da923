import t from 'tap'
import { openDatabase } from '../../support/database.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import {
  AT_CALLBACK,
  AT_PAGE,
  bodyOf,
  logIn,
  outcomeOf,
  startJourney,
  tokenOf,
  userOf,
} from './journey.ts'

const database = await openDatabase(t)

t.test('logs somebody in, and the same person again', async (t) => {
  const { app, users, browser, start } = await startJourney(t, database)
  const page = await logIn(browser, `${start}?redirect=/notes`, 'ann')
  t.equal(page.status, 303)
  t.equal(page.location?.split('#')[0], `${app.origin}/home/notes`)
  const first = await userOf(app, tokenOf(page))
  t.match(first, { exampleId: 'ann' })
  t.same(
    browser.cookies.filter(({ name }) => name.includes('remex')),
    [],
    'the flow is forgotten',
  )

  const again = await browser.follow(start, AT_PAGE)
  t.same(await userOf(app, tokenOf(again)), first)
  t.equal(await users.countDocuments(), 1)
})

t.test('runs the hooks of the authentication service, and emits its event', async (t) => {
  const seen: unknown[] = []
  const { browser, start } = await startJourney(t, database, {
    extend(app) {
      const after = ({ result, params }: { result: unknown; params: { query?: unknown } }) => {
        seen.push(Object.keys(result as object).sort(), params.query)
      }
      app.service('authentication').hooks({ after: { create: [after as never] } })
      app.on('login', () => seen.push('login'))
    },
  })
  await logIn(browser, `${start}?tone=blue`, 'ann')
  t.same(seen, [['accessToken', 'authentication', 'user'], { tone: 'blue' }, 'login'])
})

t.test('tells the page that somebody has refused, who can try again', async (t) => {
  const { app, users, browser, start } = await startJourney(t, database)
  const form = await browser.follow(start)
  const page = await browser.submit(form, { action: 'refuse' }, AT_PAGE)
  t.equal(page.status, 303)
  t.same(outcomeOf(page), { error: 'You have not let us know who you are at example' })
  t.match(bodyOf(page), { name: 'NotAuthenticated', code: 401 })
  t.notMatch(page.text, /The user has refused/, 'the words of the provider are not repeated')
  t.equal(await users.countDocuments(), 0)
  t.match(app.log.join('\n'), /access_denied: The user has refused/)
  t.match(await userOf(app, tokenOf(await logIn(browser, start, 'ann'))), { exampleId: 'ann' })
})

t.test('keeps two people apart who log in at once', async (t) => {
  const { app, users, browser, start } = await startJourney(t, database)
  const other = new CookieBrowser()
  const ann = await logIn(browser, start, 'ann', AT_CALLBACK)
  const bob = await logIn(other, start, 'bob', AT_CALLBACK)
  const ends = [
    browser.follow(ann.location ?? '', AT_PAGE),
    other.follow(bob.location ?? '', AT_PAGE),
  ]
  const names = []
  for (const page of await Promise.all(ends))
    names.push((await userOf(app, tokenOf(page)))?.['exampleId'])
  t.same(names, ['ann', 'bob'])
  t.equal(await users.countDocuments(), 2)
})

t.test('of two tabs of a browser, the one logs in that has begun last', async (t) => {
  const { app, browser, start } = await startJourney(t, database)
  const older = await logIn(browser, start, 'ann', AT_CALLBACK)
  const newer = await logIn(browser, start, 'ann', AT_CALLBACK)
  const refused = await browser.open(older.location ?? '')
  t.equal(refused.status, 401)
  t.equal(refused.location, null)
  t.match(refused.text, /You must initiate the oAuth flow/)
  const page = await browser.follow(newer.location ?? '', AT_PAGE)
  t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' }, 'the older tab has ended nothing')
})

t.test('takes the answer of the provider once', async (t) => {
  const { users, browser, start } = await startJourney(t, database)
  const { location } = await logIn(browser, start, 'ann', AT_CALLBACK)
  const cookies = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  t.match(outcomeOf(await browser.follow(location ?? '', AT_PAGE)), { access_token: /./ })
  t.equal((await browser.open(location ?? '')).status, 401, 'without the cookie')
  const copied = await fetch(location ?? '', { headers: { cookie: cookies }, redirect: 'manual' })
  t.equal(copied.status, 401, 'with a copy of it')
  t.equal(await users.countDocuments(), 1)
})

t.test('logs in at two providers at once in one browser', async (t) => {
  const { app, users, browser, start, startOther } = await startJourney(t, database)
  const one = await logIn(browser, start, 'ann', AT_CALLBACK)
  const other = await logIn(browser, startOther, 'ann', AT_CALLBACK)
  const first = tokenOf(await browser.follow(one.location ?? '', AT_PAGE))
  const second = tokenOf(await browser.follow(other.location ?? '', AT_PAGE))
  t.match(await userOf(app, first), { exampleId: 'ann' })
  t.match(await userOf(app, second), { otherId: 'ann' })
  t.equal(await users.countDocuments(), 2, 'nobody has asked to link them')
})

import t from 'tap'
import { openDatabase } from '../../support/database.ts'
import { CookieBrowser } from '../../support/oauth/cookie-browser.ts'
import {
  AT_CALLBACK,
  AT_PAGE,
  fillForms,
  logIn,
  outcomeOf,
  post,
  startJourney,
  tokenOf,
  userOf,
} from './journey.ts'

const database = await openDatabase(t)

t.test('links a second provider to the account of a token', async (t) => {
  const { app, users, browser, start, startOther } = await startJourney(t, database)
  const token = tokenOf(await logIn(browser, start, 'ann'))
  const page = await logIn(browser, `${startOther}?feathers_token=${token}`, 'ann')
  const linked = await userOf(app, tokenOf(page))
  t.match(linked, { exampleId: 'ann', otherId: 'ann' })
  t.equal(await users.countDocuments(), 1)
  const stranger = new CookieBrowser()
  t.same(await userOf(app, tokenOf(await logIn(stranger, startOther, 'ann'))), linked)
  t.notMatch(app.log.join('\n'), new RegExp(token), 'the token stands in no log')
})

t.test('links by the header of a POST, whose answer the page follows', async (t) => {
  const { app, users, browser, start, startOther } = await startJourney(t, database)
  const token = tokenOf(await logIn(browser, start, 'ann'))
  const begun = await post(startOther, {}, { authorization: `Bearer ${token}` })
  t.equal(begun.status, 303)
  t.match(JSON.parse(begun.text), { location: begun.headers.get('location') })
  const [cookie = ''] = begun.headers.getSetCookie()
  const atProvider = await browser.follow(begun.headers.get('location') ?? '', AT_CALLBACK)
  const { location } = await fillForms(browser, atProvider, 'ann', AT_CALLBACK)
  const headers = { cookie: cookie.split(';')[0] ?? '' }
  const ended = await fetch(location ?? '', { headers, redirect: 'manual' })
  t.match(ended.headers.get('location'), /#access_token=/)
  t.match(await users.find().toArray(), [{ exampleId: 'ann', otherId: 'ann' }])
  t.equal(await users.countDocuments(), 1)
  t.equal((await app.getMe(token)).status, 200, 'the login before goes on')
})

t.test('refuses to link what belongs to somebody else', async (t) => {
  const { users, browser, start, startOther } = await startJourney(t, database)
  await logIn(new CookieBrowser(), startOther, 'ann')
  const token = tokenOf(await logIn(browser, start, 'ann'))
  const page = await logIn(browser, `${startOther}?feathers_token=${token}`, 'ann')
  t.same(outcomeOf(page), { error: 'This other account belongs to another account here' })
  t.same((await users.find({}, { projection: { _id: 0 } }).toArray()).flatMap(Object.entries), [
    ['otherId', 'ann'],
    ['exampleId', 'ann'],
  ])
})

t.test('of two accounts that link one of a provider at once, one gets it', async (t) => {
  const { users, start, startOther } = await startJourney(t, database)
  const ends = await Promise.all(
    ['ann', 'bob'].map(async (name) => {
      const browser = new CookieBrowser()
      const token = tokenOf(await logIn(browser, start, name))
      const away = new CookieBrowser()
      const page = await logIn(away, `${startOther}?feathers_token=${token}`, 'eve', AT_CALLBACK)
      return () => away.follow(page.location ?? '', AT_PAGE)
    }),
  )
  const outcomes = (await Promise.all(ends.map((end) => end()))).map(outcomeOf)
  t.equal(outcomes.filter(({ access_token }) => access_token !== undefined).length, 1)
  t.same(
    outcomes.flatMap(({ error = [] }) => error),
    ['This other account belongs to another account here'],
  )
  t.equal(await users.countDocuments({ otherId: 'eve' }), 1)
})

t.test('a token to link with that is not valid is an error of the page', async (t) => {
  const { users, browser, start } = await startJourney(t, database)
  const page = await browser.follow(`${start}?feathers_token=not.a.token`, {
    referer: start,
    ...AT_PAGE,
  })
  t.equal(page.status, 303)
  t.match(outcomeOf(page), { error: /./ })
  t.same(browser.cookies, [])
  t.equal(await users.countDocuments(), 0)
})

t.test('links nothing for an account that is gone when the flow ends', async (t) => {
  const { users, browser, start, startOther } = await startJourney(t, database)
  const token = tokenOf(await logIn(browser, start, 'ann'))
  const at = await logIn(browser, `${startOther}?feathers_token=${token}`, 'ann', AT_CALLBACK)
  await users.deleteMany({})
  t.match(outcomeOf(await browser.follow(at.location ?? '', AT_PAGE)), { error: /does not exist/ })
  t.equal(await users.countDocuments(), 0)
})

t.test('linking again changes nothing, another account of the provider replaces it', async (t) => {
  const { app, users, browser, start, startOther } = await startJourney(t, database)
  const token = tokenOf(await logIn(browser, start, 'ann'))
  const names = []
  for (const account of ['ann', 'ann', 'bob']) {
    const page = await logIn(new CookieBrowser(), `${startOther}?feathers_token=${token}`, account)
    names.push((await userOf(app, tokenOf(page)))?.['otherId'])
  }
  t.same(names, ['ann', 'ann', 'bob'])
  t.match(await userOf(app, token), { exampleId: 'ann', otherId: 'bob' })
  t.equal(await users.countDocuments(), 1)
})

t.test('an account is unlinked by taking its id away', async (t) => {
  const changes = [{ $unset: { otherId: true } }, { otherId: null }]
  for (const change of changes) {
    const { app, users, browser, start, startOther } = await startJourney(t, database)
    const token = tokenOf(await logIn(browser, start, 'ann'))
    await logIn(browser, `${startOther}?feathers_token=${token}`, 'ann')
    const own = await userOf(app, token)
    await app.app.service('users').patch(own?.['_id'], change)
    const page = await logIn(new CookieBrowser(), startOther, 'ann')
    t.not((await userOf(app, tokenOf(page)))?.['_id'], own?.['_id'], 'it is another account now')
    t.match(await userOf(app, token), { exampleId: 'ann' })
    t.equal(await users.countDocuments(), 2)
  }
})

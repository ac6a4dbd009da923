import t from 'tap'
import { openDatabase } from '../../support/database.ts'
import {
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

/** Returns the parameters that the provider is asked with. */
function asked(location: string | null): Record<string, string> {
  return Object.fromEntries(new URL(location ?? 'none:').searchParams)
}

t.test('asks the provider with everything that protects a login', async (t) => {
  const { browser, provider, start } = await startJourney(t, database)
  const { location } = await browser.open(start)
  t.ok(location?.startsWith(`${provider.issuer}/auth?`))
  t.match(asked(location), {
    client_id: 'app',
    redirect_uri: `${start}/callback`,
    response_type: 'code',
    scope: 'openid email profile',
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
    code_challenge: /^[\w-]{43}$/,
    code_challenge_method: 'S256',
  })
  t.not(asked(location)['state'], asked((await browser.open(start)).location)['state'])
})

t.test('starts with a set of other settings', async (t) => {
  const overrides = { again: { scope: ['email'], custom_params: { prompt: 'login' } } }
  const { app, browser, start } = await startJourney(t, database, { section: { overrides } })
  const { location } = await browser.open(`${start}/again`)
  t.match(asked(location), {
    prompt: 'login',
    scope: 'openid email',
    redirect_uri: `${start}/callback`,
  })
  const page = await logIn(browser, `${start}/again?redirect=/notes`, 'ann')
  t.match(page.location, /\/home\/notes#/)
  t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' })
  for (const name of ['other', 'toString', '__proto__']) {
    t.equal((await browser.open(`${start}/${name}`)).status, 404, name)
  }
})

t.test('a set of other settings can give the page a code', async (t) => {
  const overrides = { page: { response: 'code' as const } }
  const { app, browser, start } = await startJourney(t, database, {
    section: { overrides },
    settings: { authStrategies: ['jwt', 'example'] },
  })
  const outcome = outcomeOf(await logIn(browser, `${start}/page`, 'ann'))
  const { text } = await post(`${app.url}/authentication`, { strategy: 'example', ...outcome })
  t.match(await userOf(app, JSON.parse(text).accessToken), { exampleId: 'ann' })
})

t.test('a POST may set what the settings allow, as JSON or by a form', async (t) => {
  const { app, browser, start } = await startJourney(t, database, { section: { dynamic: true } })
  const fields = { login_hint: 'ann', prompt: 'login' }
  for (const data of [fields, new URLSearchParams(fields)]) {
    const { status, headers } = await post(`${start}?redirect=/notes`, data)
    t.equal(status, 303)
    t.match(asked(headers.get('location')), fields)
    t.match(headers.get('set-cookie'), /^remex-oauth-example=/)
  }
  for (const name of ['scope', 'redirect_uri', 'client_id', 'state', 'nonce', 'response_mode']) {
    const refused = await post(start, { [name]: 'x' })
    t.equal(refused.status, 400, name)
    t.match(refused.text, `The parameter '${name}' cannot be set for this provider`)
    t.equal(refused.headers.get('set-cookie'), null)
  }
  const page = await logIn(browser, `${start}?login_hint=ann&scope=x`, 'ann')
  t.match(await userOf(app, tokenOf(page)), { exampleId: 'ann' })
})

t.test('nothing may be set where the settings allow nothing', async (t) => {
  const { browser, start } = await startJourney(t, database)
  t.equal((await post(start, { prompt: 'login' })).status, 400)
  const { location } = await browser.open(`${start}?prompt=login&login_hint=ann`)
  t.notOk('prompt' in asked(location))
  t.notOk('login_hint' in asked(location))
})

t.test('a form of a page begins a flow', async (t) => {
  const { app, browser, start } = await startJourney(t, database, { section: { dynamic: true } })
  const form = `<form method="post" action="${start}"><input name="login_hint" value="ann"></form>`
  const page = {
    url: `${app.origin}/`,
    status: 200,
    headers: new Headers(),
    text: form,
    location: null,
  }
  const opened = await browser.submit(page, {}, AT_PAGE)
  t.match(await userOf(app, tokenOf(await fillForms(browser, opened, 'ann'))), { exampleId: 'ann' })
})

t.test('refuses a query that no cookie can hold, and parameters given twice', async (t) => {
  const { browser, start } = await startJourney(t, database)
  const long = await browser.open(`${start}?note=${'x'.repeat(4000)}`)
  t.same(outcomeOf(long), {
    error: 'The query and the token to link are too long: a cookie holds 3800 bytes',
  })
  t.equal((await browser.open(`${start}?redirect=/a&redirect=/b`)).status, 401)
  t.same(browser.cookies, [])
})

t.test('there is nothing at a provider that is not set up', async (t) => {
  const { app } = await startJourney(t, database)
  for (const name of ['nobody', 'jwt', '__proto__', 'constructor']) {
    for (const path of [name, `${name}/callback`]) {
      const { status, headers } = await fetch(`${app.url}/oauth/${path}`, { redirect: 'manual' })
      t.equal(status, 404, path)
      t.equal(headers.get('location'), null)
    }
  }
})

import authenticationClient, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import type { Test } from 'tap'
import t from 'tap'
import { authentication, createClient } from '../../../src/client/index.ts'
import { showPage } from '../../client/authentication/page.ts'
import { openDatabase } from '../../support/database.ts'
import type { Page } from '../../support/oauth/cookie-browser.ts'
import type { JourneyOptions } from './journey.ts'
import { AT_PAGE, logIn, startJourney } from './journey.ts'

const database = await openDatabase(t)

/** Logs somebody in, or refuses; resolves to the page after that, and the URL of the services. */
async function visit(t: Test, options: JourneyOptions = {}, refuses = false) {
  const { app, browser, start } = await startJourney(t, database, options)
  const page: Page = refuses
    ? await browser.submit(await browser.follow(start), { action: 'refuse' }, AT_PAGE)
    : await logIn(browser, start, 'ann')
  return { url: app.url, href: page.location ?? '', app }
}

function createOfficialClient(url: string) {
  const client = feathers()
  client.configure(restClient.default(url).fetch(fetch))
  return client.configure(authenticationClient.default({ storage: new MemoryStorage() }))
}

/** Puts what the official client knows of a page in place. */
function showWindow(t: Test, href: string) {
  const { location, entries } = showPage(t, href)
  Object.assign(globalThis, { window: { location } })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'window'))
  return { location, entries }
}

t.test('the official client takes the token from the location, and calls services', async (t) => {
  const { url, href } = await visit(t)
  const client = createOfficialClient(url)
  const location = { hash: new URL(href).hash }
  const token = await client.authentication.getFromLocation(location as never)
  t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)
  t.equal(location.hash, '#')
  await client.authentication.setAccessToken(String(token))
  t.match(await client.reAuthenticate(), { user: { exampleId: 'ann' } })
  t.match(await client.service('me').find(), { user: { exampleId: 'ann' } })
})

t.test('the official client logs in by the page that it is loaded in', async (t) => {
  const pages = ['/home', 'https://page.test/app#/login']
  for (const redirect of pages) {
    const { url, href } = await visit(t, { oauth: { redirect } })
    const { location } = showWindow(t, href)
    const client = createOfficialClient(url)
    t.match(await client.reAuthenticate(), { user: { exampleId: 'ann' } }, redirect)
    t.match(await client.service('me').find(), { user: { exampleId: 'ann' } })
    t.notMatch(location.hash, /access_token/)
  }
})

t.test('the official client reads the error of a login', async (t) => {
  const { url, href } = await visit(t, {}, true)
  const location = { hash: new URL(href).hash } as never
  await t.rejects(createOfficialClient(url).authentication.getFromLocation(location), {
    name: 'OauthError',
    message: 'You have not let us know who you are at example',
  })
})

t.test('our client logs in by the page that it is loaded in', async (t) => {
  const pages = ['/home', 'https://page.test/app#/login']
  for (const redirect of pages) {
    const { url, href } = await visit(t, { oauth: { redirect } })
    const { location } = showPage(t, href)
    const client = createClient({ baseURL: url }).configure(authentication())
    t.match(await client.reAuthenticate(), { user: { exampleId: 'ann' } }, redirect)
    t.match(await client.service('me').find(), { user: { exampleId: 'ann' } })
    t.notMatch(location.href, /access_token/)
  }
})

t.test('our client reads the error of a login', async (t) => {
  const { url, href } = await visit(t, {}, true)
  const { location } = showPage(t, href)
  const client = createClient({ baseURL: url }).configure(authentication())
  await t.rejects(client.reAuthenticate(), {
    name: 'OauthError',
    message: 'You have not let us know who you are at example',
  })
  t.notMatch(location.href, /#/)
})

t.test('our client exchanges the code of a login, behind any prefix', async (t) => {
  const { url, href, app } = await visit(t, {
    prefix: '/api/v1',
    oauth: { redirect: 'https://page.test/app#/login', defaults: { response: 'code' } },
    settings: { authStrategies: ['jwt', 'example', 'other'] },
  })
  const logins: unknown[] = []
  app.app.on('login', (result: { authentication?: { strategy?: string } }) => {
    logins.push(result.authentication?.strategy)
  })
  const { location, entries } = showPage(t, href)
  const client = createClient({ baseURL: url }).configure(authentication())
  t.match(await client.reAuthenticate(), { user: { exampleId: 'ann' } })
  t.match(await client.service('me').find(), { user: { exampleId: 'ann' } })
  t.equal(location.href, 'https://page.test/app#/login')
  t.equal(entries.length, 1)
  t.same(logins, ['example', 'jwt'])
  t.notMatch(app.log.join('\n'), /code=|eyJ/)
})

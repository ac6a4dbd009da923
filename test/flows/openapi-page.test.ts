import t from 'tap'
import { openapi } from '../../src/transport/index.ts'
import { findChromium, openPage } from '../support/chromium.ts'
import { openDatabase } from '../support/database.ts'
import { addCountries } from '../support/described-countries.ts'
import { MODES, startServer } from '../support/http.ts'
import { until } from '../support/until.ts'

const chromium = findChromium()
const skip = chromium === undefined && 'the page needs Chromium: install the package `chromium`'

const INFO = { title: 'Countries & <more>', version: '1.0.0' }

const database = skip ? undefined : await openDatabase(t)

for (const mode of MODES) {
  t.test(`${mode}: the page shows every service and calls them`, { skip }, async (t) => {
    const collection = await database?.empty('countries')
    const server = await startServer(t, mode, {
      services: (app) => {
        if (collection !== undefined) addCountries(app, collection)
        app.use('notes', { find: async () => [] }).configure(openapi({ info: INFO }))
      },
    })
    server.app.use('later', { find: async () => [] })
    const { evaluate, click, read } = await openPage(t, String(chromium), `${server.url}/docs`)
    await read('#operations-tag-later')
    t.equal(await evaluate('document.title'), INFO.title)
    t.equal(await evaluate("document.querySelectorAll('.topbar, .topbar-wrapper').length"), 0)
    const tags = await evaluate(
      "[...document.querySelectorAll('h3[data-tag]')].map((it) => it.dataset.tag).join()",
    )
    const own = String(tags)
      .split(',')
      .filter((tag) => tag !== 'default')
    t.strictSame(own, ['countries', 'notes', 'later'])
    await click('#operations-countries-scaleCountries button.opblock-summary-control')
    const operation = '#operations-countries-scaleCountries'
    // The page takes no click until it has made up an example of the data.
    await until(async () => {
      await click(`${operation} button.execute`)
      return evaluate(`document.querySelector('${operation} .live-responses-table') !== null`)
    })
    const answer = await read(`${operation} .live-responses-table .response`)
    t.match(answer, '200')
    t.match(answer, '"scaled": 0')
  })
}

t.test('the page follows the colours of the system, and cuts off no path', { skip }, async (t) => {
  const path = 'organizations/:organizationId/notifications'
  const server = await startServer(t, 'standalone', {
    services: (app) => {
      app.use(path, { find: async () => [] } as never).configure(openapi({ info: INFO }))
    },
  })
  const page = await openPage(t, String(chromium), `${server.url}/docs`)
  await page.read('.opblock-tag')
  for (const scheme of ['dark', 'light'] as const) {
    await page.setColorScheme(scheme)
    const isDark = "document.documentElement.classList.contains('dark-mode')"
    await until(async () => (await page.evaluate(isDark)) === (scheme === 'dark'))
  }
  await page.setWidth(390)
  const right = "document.querySelector('.opblock-tag span').getBoundingClientRect().right"
  t.ok(Number(await page.evaluate(right)) < 390)
})

t.test(
  'a link leads to an operation, which can be called as it is filled in',
  { skip },
  async (t) => {
    const collection = await database?.empty('countries')
    const server = await startServer(t, 'standalone', {
      services: (app) => {
        if (collection !== undefined) addCountries(app, collection)
        app.configure(openapi({ info: INFO }))
      },
    })
    const url = `${server.url}/docs/#/countries/findCountries`
    const { click, read } = await openPage(t, String(chromium), url)
    const operation = '#operations-countries-findCountries'
    // Until its parameters are shown the page does not know the operation: a call that begins before
    // never ends.
    await read(`${operation} [data-param-name="$limit"]`)
    await click(`${operation} button.execute`)
    const answer = await read(`${operation} .live-responses-table .response`)
    t.match(answer, '200')
    t.match(answer, '"total": 0')
  },
)

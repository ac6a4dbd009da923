import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createSite } from '../../examples/conditional.ts'
import type { ChromiumPage } from '../support/chromium.ts'
import { findChromium, openPage } from '../support/chromium.ts'
import { openDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

// A browser is started, which takes its time beside other work.
t.setTimeout(600_000)

const { db } = await openDatabase(t)
const chromium = findChromium()

const TEXT = "document.querySelector('textarea')"

async function save(page: ChromiumPage, text: string): Promise<void> {
  await page.evaluate(`void (${TEXT}.value = '${text}')`)
  await page.click('button')
}

t.test(
  'two windows edit one page, and none overwrites the other',
  { skip: chromium ? false : 'no Chromium' },
  async (t) => {
    const app = await createSite(db)
    const server = await app.listen({ port: 0, host: '127.0.0.1' })
    t.teardown(() => app.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const stored = async () => (await db.collection('pages').findOne({}))?.['text']
    const one = await openPage(t, chromium ?? '', url)
    const two = await one.openTab(url)
    for (const page of [one, two]) {
      await until(async () => (await page.evaluate(`${TEXT}.value`)) === 'Hello')
    }
    await save(one, 'first')
    await until(async () => (await one.read('output')) === 'Saved')
    t.equal(await stored(), 'first')
    await save(two, 'second')
    await until(async () => (await two.read('output')).startsWith('Somebody has written meanwhile'))
    t.match(await two.read('output'), 'first')
    t.equal(await two.evaluate(`${TEXT}.value`), 'second', 'what was typed is kept')
    t.equal(await stored(), 'first')
    await two.click('button')
    await until(async () => (await two.read('output')) === 'Saved')
    t.equal(await stored(), 'second')
  },
)

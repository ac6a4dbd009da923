import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'

import { PAGE_HEADERS, renderAnswerPage, renderIndexPage } from '../../examples/countries-page.ts'
import { renderErrorPage } from '../../src/transport/errors/error-page.ts'
import { findChromium, openPage } from '../support/chromium.ts'
import { startExample } from '../support/example-process.ts'
import { until } from '../support/until.ts'

const URL = 'http://127.0.0.1:3030'

const PAGES = [
  ['the start', renderIndexPage(URL)],
  ['an answer', renderAnswerPage('/countries?name=<b>', { name: '<script>alert("1")</script>' })],
  [
    'an error',
    renderErrorPage({ status: 400, message: '<script>', requestId: '7', hasWayBack: true }),
  ],
] as const

for (const [name, page] of PAGES) {
  t.test(`the page of ${name} fits a phone and follows the choice of light and dark`, async (t) => {
    t.match(page, /^<!doctype html>\n<html lang="en">/)
    t.match(page, '<meta name="viewport" content="width=device-width, initial-scale=1">')
    t.match(page, 'color-scheme: light dark')
    t.match(page, 'overflow-wrap: anywhere')
    t.notMatch(page, /<b>/)
    t.equal(page.split('<script>').length, name === 'the start' ? 2 : 1)
  })
}

t.test('the page of an answer has its JSON, indented and escaped', async (t) => {
  const [, page = ''] = PAGES[1]
  const [, json = ''] = /<pre>([\s\S]*)<\/pre>/.exec(page) ?? []
  const text = json.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
  t.equal(text, '{\n  "name": "<script>alert(\\"1\\")</script>"\n}')
  t.match(page, '<a href="/">')
  t.match(PAGE_HEADERS['content-security-policy'], "default-src 'none'")
})

t.test('every link of the start leads to the service', async (t) => {
  const links = [...renderIndexPage(URL).matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href)
  t.ok(links.length > 5)
  for (const link of links) t.match(link, /^\/countries/)
})

const chromium = findChromium()
const skip = chromium === undefined && 'the page needs Chromium: install the package `chromium`'

/** Starts the example with data of its own. Resolves to its URL. */
async function startCountries(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'remex-countries-page-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const variables = { DATA_DIRECTORY: join(folder, 'data') }
  const { port } = await startExample(t, 'countries', 'Ctrl-C', variables)
  return `http://127.0.0.1:${port}`
}

function patchFrance(url: string, data: object): Promise<Response> {
  const body = JSON.stringify(data)
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/countries/FRA`, { method: 'PATCH', headers, body })
}

t.test('the list on the page changes while countries are patched', { skip }, async (t) => {
  const url = await startCountries(t)
  const { evaluate, read } = await openPage(t, String(chromium), `${url}/`)
  t.equal(await read('#FRA'), 'France: Paris')
  const rows = "document.querySelectorAll('#live > li').length"
  t.equal(await evaluate(rows), 8)
  await patchFrance(url, { capital: ['Lyon'] })
  await until(async () => (await read('#FRA')) === 'France: Lyon')
  await patchFrance(url, { subregion: 'Elsewhere' })
  await until(async () => (await evaluate(rows)) === 7)
})

t.test('programs get JSON, browsers a page, and an EventSource a stream', async (t) => {
  const url = await startCountries(t)
  const get = async (accept: string) => {
    const { headers, body } = await fetch(`${url}/countries?_id=FRA`, { headers: { accept } })
    const reader = body?.getReader()
    const chunk = await reader?.read()
    await reader?.cancel()
    return [headers.get('content-type'), new TextDecoder().decode(chunk?.value)]
  }
  t.match(await get('*/*'), ['application/json; charset=utf-8', '{"total":1'])
  t.match(await get('text/html,*/*;q=0.8'), ['text/html; charset=utf-8', '<!doctype html>'])
  t.match(await get('text/event-stream'), ['text/event-stream; charset=utf-8', 'retry: '])
})

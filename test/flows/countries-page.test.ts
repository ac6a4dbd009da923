import t from 'tap'

import { PAGE_HEADERS, renderAnswerPage, renderIndexPage } from '../../examples/countries-page.ts'
import { renderErrorPage } from '../../src/transport/errors/error-handler.ts'

const PAGES = [
  ['the start', renderIndexPage()],
  ['an answer', renderAnswerPage('/countries?name=<b>', { name: '<script>alert("1")</script>' })],
  ['an error', renderErrorPage({ status: 400, message: '<script>', hasWayBack: true })],
] as const

for (const [name, page] of PAGES) {
  t.test(`the page of ${name} fits a phone and follows the choice of light and dark`, async (t) => {
    t.match(page, /^<!doctype html>\n<html lang="en">/)
    t.match(page, '<meta name="viewport" content="width=device-width, initial-scale=1">')
    t.match(page, 'color-scheme: light dark')
    t.match(page, 'overflow-wrap: anywhere')
    t.notMatch(page, /<(script|b)>/)
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
  const links = [...renderIndexPage().matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href)
  t.ok(links.length > 5)
  for (const link of links) t.match(link, /^\/countries/)
})

import t from 'tap'

import { acceptsJson, prefersHtml, toQuality } from '../../../src/transport/replies/accept.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** An Accept header, whether JSON may be sent, and whether HTML is liked better. */
const HEADERS: readonly [accept: string | undefined, json: boolean, html: boolean][] = [
  [undefined, true, false],
  ['', true, false],
  [' ', true, false],
  ['*/*', true, false],
  ['application/json', true, false],
  ['application/*', true, false],
  ['application/json, text/plain, */*', true, false],
  [BROWSER, true, true],
  ['text/html', false, true],
  ['text/html;q=0.1', false, true],
  ['text/html, application/json', true, false],
  ['text/html;q=0.9, application/json', true, false],
  ['text/html, application/json;q=0.9', true, true],
  ['text/html;q=0, */*', true, false],
  ['application/json;q=0', false, false],
  ['application/json;q=0, */*', false, false],
  ['text/html, application/json;q=0, */*', false, true],
  ['*/*;q=0', false, false],
  ['text/csv', false, false],
  ['text/*', false, true],
  ['text/*, application/json', true, false],
  ['text/*;q=0', false, false],
  ['TEXT/HTML', false, true],
  ['Application/JSON', true, false],
  ['application/json;version=1', true, false],
  ['application/json;q=nonsense', false, false],
  [',,;;,', false, false],
  ['application/jsonx', false, false],
]

for (const [accept, json, html] of HEADERS) {
  t.test(`Accept ${JSON.stringify(accept)}: JSON ${json}, rather HTML ${html}`, async (t) => {
    t.equal(acceptsJson(accept), json)
    t.equal(prefersHtml(accept), html)
  })
}

t.test('the most specific range counts', async (t) => {
  const accept = 'text/*;q=0.3, text/html;q=0.7, */*;q=0.5'
  t.strictSame(
    ['text/html', 'text/plain', 'image/png'].map((type) => toQuality(accept, type)),
    [0.7, 0.3, 0.5],
  )
})

t.test('reads nonsense of any length, character by character (FST-2)', async (t) => {
  // Long enough to never end where each character is compared with all others.

  for (const text of [';', ',', 'a/b;q=', 'text/html', '"', '='].map((part) =>
    part.repeat(200_000),
  )) {
    t.type(acceptsJson(text), 'boolean')
    t.type(prefersHtml(text), 'boolean')
  }
})

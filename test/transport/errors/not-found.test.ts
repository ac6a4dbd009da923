import t from 'tap'

import { HOST, injectServer, MODES } from '../../support/http.ts'

const URLS = [
  '/nothing',
  '/todo/foo/bar',
  '/nothing?a[b]=c&d=%20',
  '/__proto__',
  '/constructor/prototype',
  '/%3Cscript%3Ealert(1)%3C/script%3E',
]

for (const mode of MODES) {
  for (const url of URLS) {
    t.test(`${url} answers 404 with the URL in data, ${mode} (FTH-19)`, async (t) => {
      const server = await injectServer(t, mode, {
        services: (app) => app.use('todo', { find: async () => [], get: async () => ({}) }),
      })
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const { status, body } = await server.request(url, { method })
        t.strictSame(
          [status, body],
          [
            404,
            {
              ...{ name: 'NotFound', message: 'Page not found', code: 404, className: 'not-found' },
              data: { url: `${server.prefix}${url}` },
            },
          ],
          method,
        )
      }
      const head = await server.request(url, { method: 'HEAD' })
      t.strictSame([head.status, head.text], [404, ''])
    })
  }

  t.test(`verbose: true names the URL in the message, ${mode}`, async (t) => {
    const server = await injectServer(t, mode, { notFound: { verbose: true } })
    const url = `${server.prefix}/nothing?a=1`
    const { body } = await server.request('/nothing?a=1')
    t.match(body, { message: `Page not found: ${url}`, data: { url } })
  })

  t.test(`a long URL is not repeated in full, ${mode}`, async (t) => {
    const server = await injectServer(t, mode, { notFound: { verbose: true } })
    const { status, text } = await server.request(`/${'x'.repeat(10_000)}`)
    t.equal(status, 404)
    t.ok(text.length < 5_000)
  })

  t.test(`markup in the URL does not reach the page, ${mode} (HTTP-13)`, async (t) => {
    const server = await injectServer(t, mode, { notFound: { verbose: true } })
    const { status, text } = await server.request('/%3Cscript%3Ealert(1)%3C/script%3E', {
      headers: { accept: 'text/html' },
    })
    t.equal(status, 404)
    t.match(text, '%3Cscript%3E', 'as it was sent')
    t.notMatch(text, /<script/)
  })

  t.test(`what looks like a path to a file is an id or nothing, ${mode} (HTTP-14)`, async (t) => {
    const server = await injectServer(t, mode, {
      services: (app) => app.use('todo', { get: async (id: string) => ({ id }) }),
    })
    for (const [path, id] of [
      ['/todo/..%2f..%2fetc%2fpasswd', '../../etc/passwd'],
      ['/todo/%5c..', '\\..'],
      ['/todo/%252e%252e', '%2e%2e'],
      ['/todo/%00', '\0'],
      ['/todo/a%0d%0ab', 'a\r\nb'],
    ] as const) {
      const { status, body } = await server.request(path)
      t.strictSame([status, body], [200, { id }], path)
    }
  })
}

t.test('the host keeps its own 404 outside of the prefix', async (t) => {
  const server = await injectServer(t, 'plugin', {})
  const response = await server.fastify.inject('/nothing')
  t.strictSame([response.statusCode, response.json()], [404, HOST.notFound])
})

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

import { app, writeDocument } from '../../../examples/openapi.ts'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8')
}

const KEY = { 'x-staff-key': 'letmein' }

t.before(() => app.fastify.ready())
t.teardown(() => app.close())

t.test('the code of the page about OpenAPI stands in an example that runs', async (t) => {
  const blocks = [...read('docs/reference/openapi.md').matchAll(/```ts\n([\s\S]*?)```/g)]
  // The client is compiled and run by test/flows/openapi-client.test.ts.
  const own = blocks.filter(([, block = '']) => !block.includes('openapi-fetch'))
  t.equal(own.length, 3)
  const example = read('examples/openapi.ts')
  for (const [, block = ''] of own) t.ok(example.includes(block), block.split('\n')[0] ?? '')
})

t.test('the example shows its page and its document to staff alone', async (t) => {
  for (const path of ['/reference/', '/reference/json', '/reference/yaml', '/%72eference/json']) {
    const refused = await app.fastify.inject(path)
    t.match(JSON.parse(refused.body), { code: 404, message: 'Page not found' }, path)
    const { statusCode } = await app.fastify.inject({ url: path, headers: KEY })
    t.equal(statusCode, 200, path)
  }
})

t.test('the document has what the page says of it', async (t) => {
  const { body } = await app.fastify.inject({ url: '/reference/json', headers: KEY })
  const document = JSON.parse(body)
  t.strictSame(Object.keys(document.paths), ['/measures', '/measures/convert'])
  t.match(document.paths['/measures'].get, {
    operationId: 'findMeasures',
    summary: 'Recent measurements',
  })
  t.match(document.components.schemas, { Error: {}, Measure: {}, MeasuresCreateData: {} })
  t.strictSame(Object.keys((await writeDocument()).paths), Object.keys(document.paths))
})

t.test('an excluded service answers, and a custom method has a path of its own', async (t) => {
  const jobs = await app.fastify.inject('/jobs')
  t.strictSame(JSON.parse(jobs.body), [{ name: 'clean up' }])
  const convert = (name: string) =>
    app.fastify.inject({ method: 'POST', url: `/measures/${name}`, payload: { degrees: 20 } })
  t.strictSame(JSON.parse((await convert('convert')).body), { fahrenheit: 68 })
  t.equal((await convert('nope')).statusCode, 405)
})

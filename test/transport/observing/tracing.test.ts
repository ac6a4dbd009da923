import { readFileSync } from 'node:fs'
import t from 'tap'
import { startExample } from '../../support/example-process.ts'
import type { PrintedSpan } from '../../support/tracing.ts'
import { until } from '../../support/until.ts'

const PAGE = readFileSync(
  new URL('../../../../docs/reference/observing.md', import.meta.url),
  'utf8',
)
const loader = new URL('../../support/tracing.js', import.meta.url)
const { child, port } = await startExample(t, 'tracing', 'The tasks are served', {
  NODE_OPTIONS: `--import ${loader}`,
})
let output = ''
child.stdout?.on('data', (text: string) => {
  output += text
})

/** Sends a request. Resolves to the status, the body, and the spans, that of the request first. */
async function trace(path: string, data?: object) {
  output = ''
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: data === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    body: data === undefined ? null : JSON.stringify(data),
  })
  const body = (await response.json()) as { readonly _id: string }
  await until(() => /"name":"request".*\n/.test(output))
  const spans = output.split('\n').flatMap((line) => (line === '' ? [] : [parseSpan(line)]))
  return { status: response.status, body, spans: sortSpans(spans) }
}

function parseSpan(line: string): PrintedSpan {
  return JSON.parse(line) as PrintedSpan
}

/** Returns the span of the request, and then those below it. */
function sortSpans(spans: readonly PrintedSpan[]): PrintedSpan[] {
  const sorted = spans.filter(({ name }) => name === 'request')
  for (const { id } of sorted) sorted.push(...spans.filter(({ parent }) => parent === id))
  return sorted
}

/** Returns the code of the page that begins with some text. */
function findCode(start: string): string {
  const code = PAGE.split(/^```.*\n/m).find((part) => part.startsWith(start))
  return code ?? ''
}

const toNames = (spans: readonly PrintedSpan[]) =>
  spans.map(({ scope, name }) => [scope.split('/').at(-1), name])

t.test('a call of a request is below its span, driver commands below the call', async (t) => {
  const { body, spans } = await trace('/tasks', { title: 'Secret title' })
  t.strictSame(toNames(spans), [
    ['otel', 'request'],
    ['otel', 'handler - callService'],
    ['remex', 'tasks/create'],
    ['instrumentation-mongodb', 'insert tasks'],
  ])
  const nested = await trace(`/reports/${body._id}`)
  t.strictSame(toNames(nested.spans), [
    ['otel', 'request'],
    ['otel', 'handler - callService'],
    ['remex', 'reports/get'],
    ['remex', 'tasks/get'],
    ['instrumentation-mongodb', 'find tasks'],
  ])
})

t.test('a failure of the server is one of its span, a mistake of the caller is not', async (t) => {
  const missing = await trace(`/tasks/${'a'.repeat(24)}`)
  const { body } = await trace('/tasks', {})
  const broken = await trace(`/reports/${body._id}`)
  t.strictSame([missing.status, broken.status], [404, 500])
  t.match(findCall(missing.spans), {
    status: { code: 0 },
    attributes: { 'rpc.status_code': 'NotFound' },
  })
  t.match(findCall(broken.spans), {
    status: { code: 2 },
    attributes: { 'rpc.status_code': 'GeneralError', 'error.type': 'GeneralError' },
  })
})

t.test('spans of calls hold no ids, no values of queries and no records', async (t) => {
  const { body, spans } = await trace('/tasks', { title: 'Secret title' })
  const found = await trace('/tasks?title=Secret+title')
  const nested = await trace(`/reports/${body._id}`)
  const missing = await trace(`/tasks/${'a'.repeat(24)}`)
  const calls = [spans, found.spans, nested.spans, missing.spans]
    .flat()
    .filter(({ scope }) => scope === 'remex')
  t.equal(calls.length, 5)
  for (const { attributes, status, events } of calls) {
    t.notMatch(JSON.stringify({ attributes, status, events }), /secret|aaaa/i)
    t.notOk(JSON.stringify({ attributes, status, events }).includes(body._id))
  }
})

t.test('the page shows the spans of a request, and installs what its file imports', async (t) => {
  const { body } = await trace('/tasks', { title: 'Secret title' })
  const { spans } = await trace(`/reports/${body._id}`)
  const shown = findCode('GET /reports/:__id').trim().split(/\n */)
  // The first one is of the HTTP server, which is not traced here.
  t.strictSame(
    shown.slice(1),
    spans.map(({ name }) => name),
  )
  const imported = [...findCode('import ').matchAll(/ from '(.*)'/g)].map(([, name]) => name)
  const [, ...installed] = findCode('npm install').match(/@?[\w-]+\/[\w-]+/g) ?? []
  t.strictSame(installed.sort(), imported.sort())
})

function findCall(spans: readonly PrintedSpan[]): PrintedSpan | undefined {
  return spans.find(({ scope }) => scope === 'remex')
}

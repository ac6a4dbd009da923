import t from 'tap'
import { cors, createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import { findOriginFaults } from '../../../src/transport/server/cors-origin.ts'

const BEGIN = 'it does not begin with ^'
const END = 'it does not end with $'
const DOT = 'it has a dot that is not escaped'

const PATTERNS: readonly [pattern: RegExp, faults: string[]][] = [
  [/^https:\/\/app\.example\.com$/, []],
  [/^https:\/\/(?:.+\.)?example\.com(?::\d+)?$/, []],
  [/^https:\/\/.*\.example\.com$/i, []],
  [/^https:\/\/[^.]+\.example\.com$/, []],
  [/^https:\/\/(a\.example|b\.example)$/, []],
  [/^https:\/\/a\.example$|^https:\/\/b\.example$/, []],
  [/example\.com$/, [BEGIN]],
  [/example.com$/, [BEGIN, DOT]],
  [/^https:\/\/example\.com/, [END]],
  [/https:\/\/example\.com/, [BEGIN, END]],
  [/^https:\/\/example.com$/, [DOT]],
  [/^https:\/\/app\.example.(com|net)$/, [DOT]],
  [/^https:\/\/a\.example|https:\/\/b\.example$/, [BEGIN, END]],
  [/^https:\/\/example\.com\$/, [END]],
  [/./, [BEGIN, END, DOT]],
  [/.*/, [BEGIN, END]],
]

t.test('knows the expressions that match more origins than they seem to', async (t) => {
  for (const [pattern, faults] of PATTERNS) {
    const expected = faults.length === 0 ? [] : [{ pattern, faults }]
    t.strictSame(findOriginFaults(pattern), expected, String(pattern))
  }
})

t.test('reads lists, and leaves texts and functions alone', async (t) => {
  const found = findOriginFaults(['https://a.example', /b\.example$/, /^c$/, [/d/]])
  t.strictSame(
    found.map(({ pattern }) => pattern.source),
    ['b\\.example$', 'd'],
  )
  for (const origin of ['*', true, undefined, () => undefined, ['https://a.example']]) {
    t.strictSame(findOriginFaults(origin), [])
  }
})

t.test('COR-3: credentials for every origin are refused, however that is said', async (t) => {
  for (const origin of [/.*/, /^https?:/, /./g, [['*']], [[true]], [/^https:\/\/a$/, /o*/], [1]]) {
    const options = { origin: origin as never, credentials: true }
    t.throws(() => cors(options), { name: 'TypeError', message: /every origin/ }, String(origin))
  }
  for (const origin of [/\.example\.com$/, [['https://a.example']], false, () => undefined]) {
    t.ok(cors({ origin: origin as never, credentials: true }), String(origin))
  }
})

t.test('COR-1: says at the start which of them may allow others', async (t) => {
  const origin = [/example.com$/, /^https:\/\/app\.example$/, 'https://b.example', /https:\/\/c/]
  const app = fastifyApp(createApp())
  app.configure(cors({ origin })).configure(rest())
  t.teardown(() => app.close())
  const warned: [details: object, message: string | undefined][] = []
  const ignore = () => undefined
  // Set after cors(): what counts is the logger that the application starts with.
  app.logger = {
    error: ignore,
    info: ignore,
    warn: (...line) => void warned.push([...line] as never),
  }
  await app.fastify.ready()
  t.strictSame(
    warned.map(([details]) => details),
    [{ origin: '/example.com$/' }, { origin: '/https:\\/\\/c/' }],
  )
  t.match(warned[0]?.[1], /begin with \^, it has a dot/)
  const headers = { origin: 'https://evilexample.com' }
  const { headers: answered } = await app.fastify.inject({ url: '/', headers })
  t.equal(answered['access-control-allow-origin'], headers.origin, 'as the expression says')
})

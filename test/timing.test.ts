import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'

/** What tells the time or waits for it, each with what finds it. */
const TIMING: Readonly<Record<string, RegExp>> = {
  'Date.now': /\bDate\.now\b/,
  'performance.now': /\bperformance\.now\b/,
  'process.hrtime': /\bprocess\.hrtime\b/,
  'process.cpuUsage': /\bprocess\.cpuUsage\b/,
  monitorEventLoopDelay: /\bmonitorEventLoopDelay\b/,
  'AbortSignal.timeout': /\bAbortSignal\.timeout\b/,
  // Not that of tap, `t.setTimeout()`.
  setTimeout: /(?<![.\w])setTimeout\(/,
  setInterval: /(?<![.\w])setInterval\(/,
  'node:timers': /\bfrom '(?:node:)?timers(?:\/promises)?'/,
}

/** Who needs it all the same, and what for. */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'adapter/embedded/differential/sides.ts': {
    'Date.now': 'tells a time that a server has just set from one that a test has written',
  },
  'adapter/files/file-service.test.ts': {
    'Date.now': 'a clock that is no number signs a link without an end',
  },
  'adapter/record-hooks/idempotent.test.ts': {
    'Date.now': 'the clock of a process that differs from that of the database',
  },
  'auth/login-app.ts': { 'Date.now': 'the time that tokens expire by, which a test can set' },
  'flows/jobs-process.ts': {
    'Date.now': 'the clock of a process that differs from that of the database',
  },
  'flows/limits.test.ts': { setInterval: 'a client that sends slowly is what is tested' },
  'support/clock.ts': {
    'Date.now': 'puts a clock of the test in its place',
    'performance.now': 'puts a clock of the test in its place',
  },
  'support/growth.ts': { 'process.cpuUsage': 'compares two costs of one run' },
  'support/oauth/cookie-browser.ts': {
    'Date.now': 'the time that cookies expire by, which a test can set',
  },
  'support/oauth/lying-openid-server.ts': {
    'Date.now': 'the time of the id tokens, which a test can set',
  },
  'support/s3-server.ts': {
    'Date.now': 'the time that signed URLs expire by, which a test can set',
  },
  'support/until.ts': { 'node:timers': 'looks again, for as long as it takes' },
}

/** Comments and strings, in which nothing is code but the name of a module. */
const OPAQUE = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g
const MODULE = /^'(?:node:)?timers/

/** Returns what a source has of {@link TIMING}. */
function findTiming(source: string): string[] {
  const code = source.replace(OPAQUE, (text) => (MODULE.test(text) ? text : "''"))
  return Object.keys(TIMING).filter((name) => TIMING[name]?.test(code))
}

const folder = new URL('../../test/', import.meta.url)
const found = readdirSync(folder, { recursive: true })
  .map((file) => String(file).replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && file !== 'timing.test.ts')
  .map((file) => [file, findTiming(readFileSync(new URL(file, folder), 'utf8'))] as const)

t.test('no test tells the time or waits for it, but for those with a reason', async (t) => {
  t.ok(found.length > 100, `${found.length} files`)
  const breaches = found.flatMap(([file, names]) =>
    names.filter((name) => ALLOWED[file]?.[name] === undefined).map((name) => `${file}: ${name}`),
  )
  const hint = 'wait for the event itself: see test/support/gate.ts, until.ts and clock.ts'
  t.strictSame(breaches, [], hint)
})

t.test('every reason is needed', async (t) => {
  const timing = new Map(found)
  for (const [file, reasons] of Object.entries(ALLOWED)) {
    t.strictSame(Object.keys(reasons), timing.get(file), file)
  }
})

t.test('sees every way to tell the time, and no other word', (t) => {
  const sources = [
    'const from = Date.now()',
    'performance.now() - from < 50',
    'process.hrtime.bigint()',
    'await new Promise((resolve) => setTimeout(resolve, 20))',
    "import { setTimeout as delay } from 'node:timers/promises'",
  ]
  for (const source of sources) t.equal(findTiming(source).length, 1, source)
  const others = [
    't.setTimeout(600_000)',
    '// not Date.now()',
    "t.test('Date.now() is not called')",
    'await new Promise(setImmediate)',
  ]
  for (const source of others) t.strictSame(findTiming(source), [], source)
  t.end()
})

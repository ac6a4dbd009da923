import { execFile } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'

const SRC = new URL('../../../src/', import.meta.url)
const HEAD = `
import { MongoServerError } from '${import.meta.resolve('mongodb')}'
import { connectMongoDB, MongoDBService } from '${new URL('adapter/index.js', SRC)}'
import { createApp, exitWithMessage, fastifyApp, StartError, Unavailable } from '${new URL('transport/index.js', SRC)}'
const listen = (...words) => fastifyApp(createApp()).listen(...words)
// Keeps the process running, as a connected database does.
new MessageChannel().port1.on('message', () => undefined)
async function start() {`

/** Runs a program that fails to start. Resolves to its status and what it has printed. */
function fail(t: Test, work: string): Promise<{ status: unknown; printed: string }> {
  const program = `${HEAD}\n${work}\n}\nawait start().catch(exitWithMessage)`
  const cwd = t.testdir({ 'program.mjs': program })
  // The runner of the tests has every process load its hooks.
  const { NODE_OPTIONS: _, ...env } = process.env
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(cwd, 'program.mjs')],
      { cwd, env },
      (error, stdout, stderr) => {
        resolve({ status: error?.code, printed: `${stdout}${stderr}` })
      },
    )
  })
}

/** What fails, and the only line about it. */
const LINES: readonly (readonly [title: string, work: string, line: RegExp])[] = [
  [
    'a missing variable',
    "throw new StartError('A is not set: set it')",
    /^A is not set: set it \[NOT_READY\]$/,
  ],
  [
    'an unknown option',
    'new MongoDBService({ Model: () => 0, pagniate: {} })',
    /unknown option 'pagniate'; did you mean 'paginate'\? \(program\.mjs:9:\d+\) \[INVALID_OPTION\]$/,
  ],
  [
    'a database that cannot be reached',
    "await connectMongoDB('mongodb://127.0.0.1:1')",
    /^The database is not available \(connect ECONNREFUSED 127\.0\.0\.1:1\): check that it runs, and that its address and login are right \[DATABASE_UNAVAILABLE\]$/,
  ],
  [
    'an error without a code',
    "throw new Unavailable('The bus is away')",
    /^The bus is away: check that it runs, and that its address and login are right$/,
  ],
  ['a URL of another database', "await connectMongoDB('postgres://a')", /^MongoDB: Invalid scheme/],
  ['a port that is none', "await listen('http')", /^listen\(\): the port 'http' must be/],
  [
    'the address of another machine',
    "await listen(0, '192.0.2.1')",
    /^192\.0\.2\.1 is not an address of this machine: choose another HOST/,
  ],
  [
    'an unknown host',
    "throw Object.assign(new Error(), { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'a.b' })",
    /^The host a\.b is unknown: choose another HOST/,
  ],
  [
    'a port of the system',
    "throw Object.assign(new Error(), { code: 'EACCES', syscall: 'listen', port: 80 })",
    /^Port 80 is not allowed for this user: choose a PORT from 1024 on$/,
  ],
]

for (const [title, work, line] of LINES) {
  t.test(`${title} prints one line, and status 1`, async (t) => {
    const { status, printed } = await fail(t, work)
    t.equal(status, 1)
    t.match(printed.trim(), line)
    t.equal(printed.trim().split('\n').length, 1, printed)
  })
}

t.test('a port in use prints one line, and status 1', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.strictSame(await fail(t, `await listen(${port})`), {
    status: 1,
    printed: `Port ${port} of 127.0.0.1 is in use: stop the program that uses it, or choose another PORT\n`,
  })
})

t.test('an error of the driver prints one line only if it concerns the connection', async (t) => {
  const refused = await fail(t, "throw new MongoServerError({ message: 'no login', code: 18 })")
  t.strictSame(refused, { status: 1, printed: 'MongoDB: no login (program.mjs:9:7)\n' })
  const duplicate = await fail(t, "throw new MongoServerError({ message: 'twice', code: 11000 })")
  t.equal(duplicate.status, 1)
  t.match(duplicate.printed, /^MongoServerError: twice\n +at start /)
})

t.test('any other error prints its stack and its causes, and status 1', async (t) => {
  for (const work of [
    "throw new TypeError('a fault', { cause: new Error('the cause') })",
    "throw Object.assign(new Error('a fault', { cause: new Error('the cause') }), { code: 'EACCES', syscall: 'open' })",
  ]) {
    const { status, printed } = await fail(t, work)
    t.equal(status, 1)
    t.match(printed, /Error: a fault\n +at start [\s\S]*the cause/)
  }
  t.match(await fail(t, "throw 'a text'"), { status: 1, printed: 'a text' })
})

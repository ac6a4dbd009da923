import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { until } from '../support/until.ts'
import { CHEAP_SCRYPT, SECRET } from '../support/users.ts'

const PROGRAM = fileURLToPath(new URL('./notes-process.js', import.meta.url))

/** Failing logins of an account; no window of the clock ends while the tests run. */
const MAX_ATTEMPTS = 4
const SETTINGS = {
  local: { scrypt: CHEAP_SCRYPT },
  loginThrottle: { maxAttempts: MAX_ATTEMPTS, windowSeconds: 3_600 * 24 * 365 * 1_000 },
}

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

interface Server {
  readonly child: ChildProcess
  request(path: string, options?: Options): Promise<Answer>
}

interface Options {
  readonly method?: string
  readonly data?: object
  readonly token?: string
}

const embedded = await startEmbeddedMongo()
const client = new MongoClient(embedded.url)
const db = client.db('notes')
const children: ChildProcess[] = []
t.teardown(async () => {
  for (const child of children) child.kill('SIGKILL')
  await client.close()
  await embedded.close()
})

async function startServer(): Promise<Server> {
  const argument = JSON.stringify({ url: embedded.url, secret: SECRET, settings: SETTINGS })
  const child = spawn(process.execPath, [PROGRAM, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  const origin = `http://127.0.0.1:${Number.parseInt(String(port), 10)}`
  return {
    child,
    async request(path, { data, token, method = data === undefined ? 'GET' : 'POST' } = {}) {
      const response = await fetch(origin + path, {
        method,
        headers: {
          ...(data === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: data === undefined ? null : JSON.stringify(data),
      })
      return { status: response.status, body: (await response.json()) as Answer['body'] }
    },
  }
}

const PASSWORD = 'correct horse battery'

function register(server: Server, email: string): Promise<Answer> {
  return server.request('/users', { data: { email, password: PASSWORD } })
}

function logIn(server: Server, email: string, password = PASSWORD): Promise<Answer> {
  return server.request('/authentication', { data: { strategy: 'local', email, password } })
}

async function getToken(server: Server, email: string): Promise<string> {
  const { status, body } = await logIn(server, email)
  if (status !== 201) throw new Error(`The login was answered ${status}`)
  return body['accessToken'] as string
}

// Both at once: each makes the indexes, or finds them.
const [first, second] = await Promise.all([startServer(), startServer()])

t.test('processes that start together make each index once', async (t) => {
  const namesOf = async (name: string) =>
    (await db.collection(name).indexes()).map((one) => one.name)
  t.strictSame(await namesOf('users'), ['_id_', 'email_1'])
  t.strictSame(await namesOf('notes'), ['_id_', 'author_1'])
  await register(first, 'ann@example.org')
  t.match(await register(second, 'ann@example.org'), { status: 409 })
})

t.test('a token of one process is taken by another until one revokes it (JWT-19)', async (t) => {
  const token = await getToken(first, 'ann@example.org')
  const { body: note } = await first.request('/notes', { data: { text: 'Hi' }, token })
  const path = `/notes/${note['_id']}`
  t.match(await second.request(path, { token }), { status: 200, body: { text: 'Hi' } })
  t.match(await first.request('/authentication', { method: 'DELETE', token }), { status: 200 })
  t.match(await second.request(path, { token }), { status: 401 })
})

t.test('failing logins are counted over all processes', async (t) => {
  await register(first, 'ben@example.org')
  const statuses: number[] = []
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const server = attempt % 2 === 0 ? first : second
    statuses.push((await logIn(server, 'ben@example.org', 'wrong')).status)
  }
  t.strictSame(statuses, Array(MAX_ATTEMPTS).fill(401))
  for (const server of [first, second]) {
    t.match(await logIn(server, 'ben@example.org'), { status: 429 })
  }
})

t.test('a process that is killed takes nothing with it that it answered (CRASH-4)', async (t) => {
  const token = await getToken(first, 'ann@example.org')
  const revoked = await getToken(first, 'ann@example.org')
  await first.request('/authentication', { method: 'DELETE', token: revoked })

  const written: unknown[] = []
  /** Writes until the process is gone. */
  async function writeOn(): Promise<void> {
    for (;;) {
      const data = { text: `note ${written.length}` }
      const answer = await first.request('/notes', { data, token }).catch(() => undefined)
      if (answer === undefined) return
      t.equal(answer.status, 201)
      written.push(answer.body['_id'])
    }
  }
  const writers = Array.from({ length: 8 }, writeOn)
  await until(() => written.length >= 40)
  const exit = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  t.match(await second.request('/notes', { data: { text: 'Still here' }, token }), {
    status: 201,
  })
  t.strictSame(await exit, [null, 'SIGKILL'])
  await Promise.all(writers)

  for (const id of written) {
    t.match(await second.request(`/notes/${id}`, { token }), { status: 200, body: { _id: id } })
  }
  t.match(await second.request('/notes', { token: revoked }), { status: 401 })
  t.match(await logIn(second, 'ben@example.org'), { status: 429 })
})

t.test('a new process knows what the killed one knew', async (t) => {
  const third = await startServer()
  t.match(await logIn(third, 'ben@example.org'), { status: 429 })
  const token = await getToken(third, 'ann@example.org')
  t.match(await second.request('/notes', { token }), { status: 200 })
})

t.test('every code block about many processes stands in the example that runs', async (t) => {
  const read = (path: string) =>
    readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')
  const blocks = [...read('docs/guides/scaling.md').matchAll(/```ts\n([\s\S]*?)```/g)]
  t.equal(blocks.length, 5)
  const example = read('examples/scaling.ts')
  for (const [, block = ''] of blocks) t.ok(example.includes(block), block.split('\n')[0] ?? '')
})

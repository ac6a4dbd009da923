import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { feathers } from '@feathersjs/feathers'
import socketioClient from '@feathersjs/socketio-client'
import { io } from 'socket.io-client'
import type { Test } from 'tap'
import t from 'tap'

const ROOT = new URL('../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')

/** Returns the comment that an example begins with, as one line, and its code. */
function parseExample(name: string): { readonly head: string; readonly code: string } {
  const [, head = '', code = ''] =
    /^((?:\/\/.*\n)*)\n?([\s\S]*)$/.exec(read(`examples/${name}.ts`)) ?? []
  return { head: head.replaceAll('// ', '').replaceAll('\n', ' '), code }
}

t.test('every example says how it starts where the package is installed', async (t) => {
  const { dependencies, peerDependencies } = JSON.parse(read('package.json'))
  const own = new Set(['remex', ...Object.keys({ ...dependencies, ...peerDependencies })])
  const files = readdirSync(new URL('examples', ROOT)).filter((file) => file.endsWith('.ts'))
  const names = files.map((file) => file.replace('.ts', ''))
  t.ok(names.length > 30)
  // A page that another example imports.
  for (const name of names.filter((one) => one !== 'countries-page')) {
    const { head, code } = parseExample(name)
    t.match(head, `npx tsx node_modules/remex/examples/${name}.ts\``)
    t.notMatch(head, /npm (?:run|start)|build\//, name)
    const packages = [...code.matchAll(/^(?!import type).*from '((?:@[^/']+\/)?[^./'][^/']*)/gm)]
    for (const [, needed = ''] of packages) {
      if (own.has(needed) || needed.startsWith('node:')) continue
      t.match(head, `npm install ${needed}\``, name)
    }
  }
})

/** Sends what `listen()` of an HTTP server has got: an example has no other way to tell its port. */
const TELL_PORT = `
import { Server } from 'node:http'
const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  this.once('listening', () => process.send(this.address().port))
  return listen.apply(this, args)
}`

/** Starts an example on a free port. Resolves to what sends requests to it, without an answer `null`. */
async function startExample(t: Test, name: string, variables: Record<string, string> = {}) {
  const { MONGODB_URL: _own, ...env } = process.env
  const child = fork(fileURLToPath(new URL(`build/examples/${name}.js`, ROOT)), {
    env: { ...env, PORT: '0', ...variables },
    execArgv: ['--import', `data:text/javascript,${encodeURIComponent(TELL_PORT)}`],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const port = once(child, 'message').then(([port]) => String(port))
  port.catch(() => undefined)
  return {
    /** Resolves to the port that the example listens on. */
    port,
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await ended
    },
    ended: ended.then(([status]) => ({ status, output })),
    /** Resolves to the frames of a stream. */
    async follow(path: string): Promise<AsyncIterator<string, undefined>> {
      const headers = { accept: 'text/event-stream' }
      const { body } = await fetch(`http://127.0.0.1:${await port}${path}`, { headers })
      return readFrames(body as unknown as AsyncIterable<Uint8Array>)
    },
    async send(path: string, data?: object, token = ''): Promise<unknown[]> {
      const response = await fetch(`http://127.0.0.1:${await port}${path}`, {
        method: data === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', authorization: token },
        body: data === undefined ? null : JSON.stringify(data),
      })
      return [response.status, await response.json()]
    },
  }
}

async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    const frames = text.split('\n\n')
    text = frames.pop() ?? ''
    for (const frame of frames) if (frame.includes('data:')) yield frame
  }
}

/** The pages whose first code is a whole program, the example that it is, and what that does. */
const PAGES: Readonly<
  Record<string, readonly [example: string, check: (t: Test) => Promise<void>]>
> = {
  'README.md': [
    'quick-start',
    async (t) => {
      const { send } = await startExample(t, 'quick-start')
      t.strictSame(await send('/messages'), [200, [{ id: 1, text: 'Hello' }]])
      t.strictSame(await send('/messages', { text: 'Hi' }), [201, { id: 2, text: 'Hi' }])
    },
  ],
  'docs/reference/embedded.md': [
    'embedded',
    async (t) => {
      const { status, output } = await (await startExample(t, 'embedded')).ended
      t.strictSame({ status, output }, { status: 0, output: '1\n' })
    },
  ],
  'docs/reference/mongodb.md': [
    'mongodb',
    async (t) => {
      const { status, output } = await (await startExample(t, 'mongodb')).ended
      t.equal(status, 0)
      t.match(output, /total: 1,\s+limit: 5,\s+skip: 0,[\s\S]+name: 'Ann',\s+age: 32/)
    },
  ],
  'docs/reference/authentication.md': [
    'authentication',
    async (t) => {
      const { send } = await startExample(t, 'authentication')
      const account = { email: 'ada@example.org', password: 'correct horse battery' }
      const [status, user] = await send('/users', account)
      t.equal(status, 201)
      t.notOk('password' in (user as object))
      t.match(await send('/users', account), [409])
      const [, login] = await send('/authentication', { strategy: 'local', ...account })
      const token = `Bearer ${(login as { readonly accessToken: string }).accessToken}`
      t.match(await send('/notes', { text: 'Hello' }), [401])
      t.match(await send('/notes', { text: 'Hello' }, token), [201, { text: 'Hello' }])
      t.match(await send('/notes', undefined, token), [200, [{ text: 'Hello' }]])
    },
  ],
  'docs/guides/oauth.md': [
    'oauth-github',
    async (t) => {
      const keys = { GITHUB_KEY: 'a-key', GITHUB_SECRET: 'a-secret' }
      const { port, send } = await startExample(t, 'oauth-github', keys)
      const url = `http://127.0.0.1:${await port}/oauth/github`
      const { status, headers } = await fetch(url, { redirect: 'manual' })
      t.equal(status, 303)
      const target = new URL(headers.get('location') ?? 'none:')
      t.equal(target.origin + target.pathname, 'https://github.com/login/oauth/authorize')
      t.match(Object.fromEntries(target.searchParams), {
        client_id: 'a-key',
        redirect_uri: `${url}/callback`,
        scope: 'read:user user:email',
        code_challenge_method: 'S256',
      })
      t.match(await send('/me'), [401])
    },
  ],
  'docs/reference/client.md': [
    'first-client',
    async (t) => {
      const { status, output } = await (await startExample(t, 'first-client')).ended
      t.equal(status, 0)
      t.match(output, /^Hi \d{4}\n/)
    },
  ],
  'docs/reference/realtime.md': [
    'live',
    async (t) => {
      const { follow, send } = await startExample(t, 'live')
      const frames = await follow('/tasks?team=blue')
      t.match(await frames.next(), { value: /event: snapshot\ndata: \[\]/ })
      await send('/tasks', { team: 'red', text: 'Call Bob' })
      const [, task] = await send('/tasks', { team: 'blue', text: 'Call Ann' })
      const { value } = await frames.next()
      t.ok(value?.includes(`event: created\ndata: ${JSON.stringify(task)}`))
    },
  ],
  'docs/reference/socketio.md': [
    'socketio',
    async (t) => {
      const { port, send } = await startExample(t, 'socketio')
      const account = { email: 'ada@example.org', password: 'correct horse battery' }
      t.match(await send('/users', account), [201])
      const [reader, writer] = [await connect(t, await port), await connect(t, await port)]
      await t.rejects(writer.service('messages').create({ text: 'Hi' }), { code: 401 })
      const heard: unknown[] = []
      reader.service('messages').on('created', (message: unknown) => heard.push(message))
      const first = { strategy: 'local', ...account }
      await writer.service('authentication').create(first)
      await writer.service('messages').create({ text: 'Nobody else is logged in' })
      await reader.service('authentication').create(first)
      const sent = await writer.service('messages').create({ text: 'Hi' })
      // Events of a connection come before what its later calls return.
      const { length } = await reader.service('messages').find()
      t.strictSame({ heard, length }, { heard: [sent], length: 2 })
      t.match(sent, { text: 'Hi', author: account.email })
    },
  ],
  'docs/reference/schemas.md': [
    'labels',
    async (t) => {
      const { send } = await startExample(t, 'labels')
      const refused = [400, { message: 'validation failed' }]
      for (const data of [{}, { name: 5 }, { name: 'a', role: 'b' }]) {
        t.match(await send('/labels', data), refused)
      }
      t.match(await send('/labels?size=5'), refused)
      t.match(await send('/labels', { name: 'a' }), [201, { name: 'a' }])
      t.match(await send('/labels?name[$in][]=a'), [200, [{ name: 'a' }]])
      t.match(await send('/docs/json'), [200, { paths: { '/labels': {} } }])
    },
  ],
}

/** Resolves to an official client of Feathers that is connected by Socket.IO. */
async function connect(t: Test, port: string) {
  const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], forceNew: true })
  t.teardown(() => socket.close())
  await once(socket as never, 'connect')
  return feathers().configure(socketioClient.default(socket as never))
}

for (const [page, [example, check]] of Object.entries(PAGES)) {
  t.test(`the first code of ${page} is a whole program, and does what the page says`, async (t) => {
    const [, block] = /```ts\n([\s\S]*?)```/.exec(read(page)) ?? []
    t.equal(block, parseExample(example).code)
    await check(t)
  })
}

t.test('the client that takes the place of sockets hears of the writes of others', async (t) => {
  const guide = read('docs/guides/migrating-from-feathers.md')
  const [, client = ''] =
    /```diff\n((?:(?!```)[\s\S])*socketio-client[\s\S]*?)```/.exec(guide) ?? []
  const added = client.split('\n').flatMap((line) => /^ *\+(.+)/.exec(line)?.[1] ?? [])
  t.equal(added.length, 5)
  const { code } = parseExample('feathers-client')
  for (const line of added) t.ok(code.includes(line.replace(/ \}.*/, '')), line)
  const { status, output } = await (await startExample(t, 'feathers-client')).ended
  t.strictSame([status, output], [0, 'Hello, written by another client\n'])
})

t.test('the countries keep what is written to them', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'remex-countries-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const variables = { DATA_DIRECTORY: join(folder, 'data') }
  const first = await startExample(t, 'countries', variables)
  const [, france] = await first.send('/countries/FRA')
  const own = { ...(france as object), _id: 'XYZ', name: 'Own' }
  t.match(await first.send('/countries', own), [201, own])
  await first.kill()
  const second = await startExample(t, 'countries', variables)
  t.strictSame(await second.send('/countries/XYZ'), [200, own])
  t.match(await second.send('/countries'), [200, { total: 251 }])
})

t.test('a client of Feathers hears what a Fastify server publishes over Socket.IO', async (t) => {
  const { status, output } = await (await startExample(t, 'socketio-client')).ended
  t.strictSame(
    { status, output },
    { status: 0, output: "{ id: 7, team: 'blue', text: 'Call Ann' }\n" },
  )
})

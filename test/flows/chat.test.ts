import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import { authenticate, hashPassword, protect } from '../../src/auth/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import type { FastifyApplication } from '../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { socketio } from '../../src/transport/socketio/index.ts'
import { addAccounts } from '../support/accounts.ts'
import type { ChromiumPage } from '../support/chromium.ts'
import { findChromium, openPage } from '../support/chromium.ts'
import { openDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const { empty } = await openDatabase(t)
const chromium = findChromium()
const collections = { users: await empty('users'), messages: await empty('messages') }
const IGNORE = (): void => undefined

const HTML = `<!doctype html>
<p id="user"></p><p id="failure"></p><p id="messages"></p>
<input id="email"><input id="password"><button id="sign-up">Sign up</button><button id="log-in">Log in</button>
<input id="text"><button id="send">Send</button><button id="edit">Edit mine</button>
<script src="/socket.io/socket.io.js"></script><script src="/page.js"></script>`

/** What a page does by the packages of Feathers. It reads the messages once: later ones come as events. */
const PAGE = `import authentication from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import socketio from '@feathersjs/socketio-client'
// By default, a page waits for a second and more before it connects again.
const socket = io({ reconnectionDelay: 20, reconnectionDelayMax: 40 })
const client = feathers().configure(socketio(socket)).configure(authentication())
const messages = client.service('messages')
const it = (id) => document.getElementById(id)
let list = [], mine, logins = 0
const show = (messages) => {
  list = messages
  it('messages').textContent = list.map(({ author, text }) => author + ': ' + text).join() || 'none'
}
messages.on('created', (message) => show([...list, message]))
messages.on('patched', (message) => show(list.map((one) => one._id === message._id ? message : one)))
const enter = async () => show(await messages.find({ query: { $sort: { _id: 1 } } }))
client.on('login', ({ user }) => {
  logins += 1
  it('user').textContent = user.email + ', login ' + logins
})
const ACTIONS = {
  'sign-up': (credentials) =>
    client.service('users').create(credentials).then(() => ACTIONS['log-in'](credentials)),
  'log-in': (credentials) => client.authenticate({ strategy: 'local', ...credentials }).then(enter),
  send: async (_credentials, text) => { mine = await messages.create({ text }) },
  edit: (_credentials, text) => messages.patch(mine._id, { text }),
}
addEventListener('click', ({ target }) => {
  const credentials = { email: it('email').value, password: it('password').value }
  ACTIONS[target.id](credentials, it('text').value).catch(({ message }) => {
    it('failure').textContent = message
  })
})
client.reAuthenticate().then(enter, () => { it('user').textContent = 'nobody' })
`

async function bundlePage(): Promise<string> {
  const resolveDir = fileURLToPath(new URL('../../../', import.meta.url))
  const { outputFiles } = await build({
    stdin: { contents: PAGE, resolveDir },
    ...{ bundle: true, format: 'iife', platform: 'browser', write: false },
  })
  return outputFiles[0]?.text ?? ''
}

/** Starts the server of the chat. Everyone who is logged in gets all messages; authors edit their own. */
async function startChat(script: string, port = 0): Promise<FastifyApplication> {
  const app = fastifyApp(createApp())
  app.logger = { error: IGNORE, warn: IGNORE, info: IGNORE }
  app.configure(rest())
  app.configure(socketio())
  addAccounts(app, { users: null })
  app.use('users', new MongoDBService({ Model: collections.users }), { methods: ['create'] })
  app.service('users').hooks({
    before: { create: [hashPassword('password')] },
    after: { all: [protect('password')] },
  })
  app.use('messages', new MongoDBService({ Model: collections.messages }), {
    methods: ['find', 'create', 'patch'],
  })
  app.service('messages').hooks({
    before: { all: [authenticate('jwt')], create: [addAuthor], patch: [onlyOfAuthor] },
  })
  app.on('login', (_result: unknown, { connection }: { readonly connection?: object }) => {
    app.channel('members').join(connection)
  })
  app.service('messages').publish(() => app.channel('members'))
  app.fastify.get('/', (_request, reply) => reply.type('text/html').send(HTML))
  app.fastify.get('/page.js', (_request, reply) => reply.type('text/javascript').send(script))
  await app.listen({ port, host: '127.0.0.1' })
  return app
}

function addAuthor(context: HookContext): void {
  const { text } = context.data as { readonly text: string }
  context.data = { text, author: nameOf(context) }
}

function onlyOfAuthor(context: HookContext): void {
  context.params.query = { ...context.params.query, author: nameOf(context) }
}

function nameOf({ params }: HookContext): string | undefined {
  return (params.user as { readonly email: string }).email.split('@')[0]
}

const shows = (page: ChromiumPage, id: string, text: string) =>
  until(async () => (await page.read(`#${id}`)) === text)

/** Clicks a button, after filling in fields. */
async function act(page: ChromiumPage, button: string, fields: object = {}): Promise<void> {
  for (const [id, value] of Object.entries(fields)) {
    await page.evaluate(`document.getElementById('${id}').value = ${JSON.stringify(value)}`)
  }
  await page.click(`#${button}`)
}

t.test(
  "two windows of a chat by Feathers' client",
  { skip: chromium ? false : 'no Chromium' },
  async (t) => {
    const script = await bundlePage()
    let app = await startChat(script)
    t.teardown(() => app.close())
    const { port } = app.fastify.server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/`
    // Two browsers: pages of one share their storage.
    const ada = await openPage(t, chromium ?? '', url)
    const bob = await openPage(t, chromium ?? '', url)
    const bothShow = (text: string) =>
      Promise.all([ada, bob].map((page) => shows(page, 'messages', text)))

    await t.test('people sign up, and log in by their passwords', async (t) => {
      for (const page of [ada, bob]) await shows(page, 'user', 'nobody')
      await act(ada, 'sign-up', { email: 'ada@example.org', password: 'correct horse' })
      await shows(ada, 'user', 'ada@example.org, login 1')
      await act(bob, 'log-in', { email: 'ada@example.org', password: 'wrong horse' })
      await shows(bob, 'failure', 'Invalid login')
      await act(bob, 'sign-up', { email: 'bob@example.org', password: 'another horse' })
      await shows(bob, 'user', 'bob@example.org, login 1')
      t.equal(app.channel('members').length, 2)
    })

    await t.test('messages and edits of each appear in both', async (t) => {
      await bothShow('none')
      await act(ada, 'send', { text: 'Hello' })
      await bothShow('ada: Hello')
      await act(bob, 'send', { text: 'Hi' })
      await bothShow('ada: Hello,bob: Hi')
      await act(ada, 'edit', { text: 'Good morning' })
      await bothShow('ada: Good morning,bob: Hi')
      t.equal(await collections.messages.countDocuments(), 2)
    })

    await t.test('after a restart, both are logged in and get the next message', async (t) => {
      await app.close()
      app = await startChat(script, port)
      await shows(ada, 'user', 'ada@example.org, login 2')
      await shows(bob, 'user', 'bob@example.org, login 2')
      t.equal(app.channel('members').length, 2)
      await act(bob, 'send', { text: 'Still here' })
      await bothShow('ada: Good morning,bob: Hi,bob: Still here')
    })

    await t.test('a window that is loaded anew is logged in by its token', async (t) => {
      await ada.reload()
      await shows(ada, 'user', 'ada@example.org, login 1')
      await bothShow('ada: Good morning,bob: Hi,bob: Still here')
      await act(bob, 'edit', { text: 'Bye' })
      await bothShow('ada: Good morning,bob: Hi,bob: Bye')
      t.equal(await collections.messages.countDocuments(), 3)
    })
  },
)

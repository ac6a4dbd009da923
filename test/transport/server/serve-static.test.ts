import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { serveStatic } from '../../../src/transport/index.ts'
import { startOwnServer } from '../../support/own-server.ts'

const FILES = {
  'index.html': '<h1>Hello</h1>',
  '.env': 'SECRET=hunter2',
  '.git': { config: 'hunter2' },
  sub: { 'a.txt': 'a', '.htpasswd': 'hunter2', '.git': { config: 'hunter2' } },
  '.well-known': {
    'security.txt': 'Contact: mailto:ann@example.org',
    'acme-challenge': { token: 'proof' },
    '.secret': 'hunter2',
  },
}

type Options = Partial<Parameters<typeof serveStatic>[0]>

function start(t: Test, options: Options = {}) {
  const root = t.testdir({ public: FILES, 'outside.txt': 'hunter2' })
  return startOwnServer(t, (app) => {
    app.configure(serveStatic({ root: join(root, 'public'), ...options }))
    app.use('notes', { find: async () => [] })
  })
}

const DOTFILES = [
  ...['/.env', '/%2eenv', '/%2Eenv', '/.git/config', '/%2Egit/config', '/.git%2fconfig', '/.git'],
  ...['/.git/', '/sub/.git/config', '/sub/%2egit/config', '/sub/.htpasswd', '/sub%2f.htpasswd'],
  ...[
    '/sub/../.env',
    '/./.env',
    '//.env',
    '/.%65nv',
    '/.env?a=b',
    '/.env#a',
    '/.env/',
    '/%2e%2egit',
  ],
  ...['/.well-known', '/.well-known/', '/.well-known/.secret', '/.well-known/%2esecret'],
  ...['/.well-known/../.env', '/.well-known/%2e%2e/.env', '/.well-known/..%2f.env'],
  ...[
    '/.well-known/..%2foutside.txt',
    '/sub/.well-known/a',
    '/.well-known\\..\\.env',
    '/.WELL-KNOWN/',
  ],
  ...['/.well-known/acme-challenge/../../.env', '/.well-known/%00', '/%252eenv'],
]

t.test('a file with a dot is not there for anybody, however its path is spelled', async (t) => {
  const server = await start(t)
  for (const path of DOTFILES) {
    for (const method of ['GET', 'HEAD']) {
      const { status, text } = await server.request(path, { method })
      t.ok([400, 403, 404].includes(status), `${method} ${path} ${status}`)
      t.notMatch(text, 'hunter2', path)
    }
  }
  t.equal((await server.request('/sub/a.txt')).text, 'a')
  t.equal((await server.request('/')).text, FILES['index.html'])
  t.equal((await server.request('/notes')).status, 200)
})

t.test('nothing tells whether there is such a file', async (t) => {
  const server = await start(t)
  const pairs = [
    ['/.env', '/.nothing'],
    ['/.git/config', '/.not/config'],
    ['/sub/.git/config', '/sub/.not/config'],
    ['/.well-known/.secret', '/.well-known/.nothing'],
    ['/.env', '/nothing'],
  ] as const
  for (const pair of pairs) {
    const answers = await Promise.all(pair.map((path) => server.request(path)))
    const shown = answers.map(({ status, text, headers: { date: _date, ...others } }, index) => {
      return JSON.stringify([status, others, text]).replaceAll(pair[index] ?? '', 'PATH')
    })
    t.equal(shown[0]?.length, shown[1]?.length, pair.join(' '))
    t.match(answers[0], { status: 404, body: { name: 'NotFound' } })
  }
})

t.test('a folder with a dot is not told by a redirect, nor its index served', async (t) => {
  const server = await start(t, { redirect: true, index: ['config', 'index.html'] })
  for (const path of ['/.git', '/.git/', '/sub/.git', '/sub/.git/', '/.not', '/.well-known']) {
    t.match(await server.request(path), { status: 404, body: { name: 'NotFound' } }, path)
  }
})

t.test('serves what is meant to be found below .well-known', async (t) => {
  const server = await start(t)
  const contact = await server.request('/.well-known/security.txt')
  t.match([contact.status, contact.text], [200, /^Contact/])
  t.match(contact.headers['content-type'], /text\/plain/)
  t.equal((await server.request('/.well-known/acme-challenge/token')).text, 'proof')
  t.equal((await server.request('/.well-known/none')).status, 404)
  const below = await start(t, { prefix: '/public/' })
  t.equal((await below.request('/public/sub/a.txt')).status, 200)
  t.equal((await below.request('/public/.well-known/security.txt')).status, 404, 'of no origin')
})

t.test('the option dotfiles allows them, or refuses .well-known as well', async (t) => {
  const open = await start(t, { dotfiles: 'allow' })
  t.match((await open.request('/.env')).text, 'hunter2')
  const closed = await start(t, { dotfiles: 'ignore' })
  t.equal((await closed.request('/.well-known/security.txt')).status, 404)
  const denied = await start(t, { dotfiles: 'deny' })
  t.equal((await denied.request('/.env')).status, 403)
  t.equal((await (await start(t, { dotfiles: undefined as never })).request('/.env')).status, 404)
  for (const dotfiles of ['denny', true, null] as never[]) {
    t.throws(() => serveStatic({ root: '/tmp', dotfiles }), {
      name: 'TypeError',
      message: /dotfiles/,
    })
  }
})

t.test('a list of files does not name them', async (t) => {
  const server = await start(t, { index: false, list: true })
  const { body } = await server.request('/')
  t.match(JSON.stringify(body), 'sub')
  t.notMatch(JSON.stringify(body), /\.env|\.git/)
})

import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { authenticate } from '../../src/auth/index.ts'
import type { AnyService, Params } from '../../src/core/index.ts'
import { findStreams } from '../../src/transport/finds/request-streams.ts'
import { compress, createApp, fastifyApp, rest } from '../../src/transport/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import { addAccounts } from '../support/accounts.ts'
import { until } from '../support/until.ts'
import { CREDENTIALS } from '../support/users.ts'

/** What the services have got of each request. */
const seen: Params[] = []

class Notes {
  readonly id = 'id'
  readonly #notes = [{ id: 0, text: `<b>${'tea '.repeat(500)}</b>` }]

  async find(params: Params = {}): Promise<object[]> {
    seen.push(params)
    return this.#notes
  }

  async create(data: { readonly text: string }): Promise<object> {
    const note = { ...data, id: this.#notes.length }
    this.#notes.push(note)
    return note
  }
}

const services = fastifyApp(createApp())
services.configure(rest()).configure(realtime()).configure(compress())
const { addUser } = addAccounts(services)
services.use('notes', new Notes() as object as AnyService)
services.service('notes').hooks({ around: { all: [authenticate('jwt')] } })
t.teardown(() => services.close())
await services.listen({ port: 0, host: '127.0.0.1' })
await addUser({ id: 1, email: CREDENTIALS.email })

// The example reads it when it is loaded.
process.env['SERVICES_URL'] = services.fastify.listeningOrigin
const { createPages } = await import('../../examples/server-rendering.ts')
const pages: FastifyInstance = createPages()
t.teardown(() => pages.close())
await pages.listen({ port: 0, host: '127.0.0.1' })
const url = `http://127.0.0.1:${(pages.server.address() as AddressInfo).port}`

async function logIn(): Promise<string> {
  const { headers } = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(CREDENTIALS),
  })
  const cookie = headers.get('set-cookie') ?? ''
  t.match(cookie, /^token=eyJ[^;]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  return cookie.split(';')[0] ?? ''
}

const cookie = await logIn()

t.test('a wrong login sets no cookie', async (t) => {
  const { status, headers } = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...CREDENTIALS, password: 'wrong' }),
  })
  t.strictSame([status, headers.get('set-cookie')], [401, null])
})

t.test('a page shows what its caller may see', async (t) => {
  t.equal(await (await fetch(url)).text(), '<p>Log in first</p>')
  const mine = await (await fetch(url, { headers: { cookie } })).text()
  t.match(mine, /^<ul><li>&#60;b&#62;tea /)
  t.equal(await (await fetch(url)).text(), '<p>Log in first</p>')
})

t.test('a request of the browser gets the token of the cookie, and no other headers', async (t) => {
  const headers = { cookie, 'x-forwarded-for': '1.2.3.4', authorization: 'Bearer other' }
  const response = await fetch(`${url}/api/notes?text=a`, { headers })
  t.equal(response.status, 200)
  t.match(await response.json(), [{ id: 0 }])
  t.equal(response.headers.get('cache-control'), 'no-store')
  const { headers: sent, query } = seen.at(-1) ?? {}
  t.match(sent, { authorization: `Bearer ${cookie.slice('token='.length)}` })
  t.notOk(sent?.['cookie'] ?? sent?.['x-forwarded-for'])
  t.strictSame(query, { text: 'a' })
  const guest = await fetch(`${url}/api/notes`)
  t.match([guest.status, await guest.json()], [401, { name: 'NotAuthenticated' }])
})

t.test('no path leads to another host', async (t) => {
  for (const path of [
    '/api@other.example/notes',
    '/api/@other.example/notes',
    '/api//other/notes',
  ]) {
    t.equal((await fetch(url + path, { headers: { cookie } })).status, 404, path)
  }
})

t.test('a live query passes, and ends with its reader', async (t) => {
  const left = new AbortController()
  const response = await fetch(`${url}/api/notes`, {
    headers: { cookie, accept: 'text/event-stream' },
    signal: left.signal,
  })
  t.match(response.headers.get('content-type'), /^text\/event-stream/)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const readUntil = async (end: string): Promise<void> => {
    while (!text.includes(end)) text += (await reader?.read())?.value
  }
  await readUntil('event: snapshot')
  const created = await fetch(`${url}/api/notes`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json' },
    body: JSON.stringify({ text: 'Later' }),
  })
  t.match([created.status, await created.json()], [201, { text: 'Later' }])
  await readUntil('"text":"Later"')
  t.equal(findStreams(services)?.size, 1)
  left.abort()
  await until(() => findStreams(services)?.size === 0)
})

import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { connect as connectTLS } from 'node:tls'
import t from 'tap'
import { findStreams } from '../../../src/transport/finds/request-streams.ts'
import type { Application } from '../../../src/transport/index.ts'
import { rest } from '../../../src/transport/index.ts'
import { realtime } from '../../../src/transport/realtime/index.ts'
import { createCertificate } from '../../support/certificate.ts'
import { Gate } from '../../support/gate.ts'
import type { ListeningServer, TestScope } from '../../support/http.ts'
import { MODES, startServer } from '../../support/http.ts'
import { openApp } from '../../support/own-server.ts'
import { laterTurns, until } from '../../support/until.ts'

/** One request that is answered, and those behind it that run. */
const MOST = 21

/** A service whose calls wait, or answer by a stream that the test ends. */
function createNotes() {
  const gate = new Gate()
  const body = new PassThrough()
  const ids: string[] = []
  const service = {
    async find() {
      return []
    },
    async get(id: string) {
      if (id === 'stream') return body
      ids.push(id)
      if (id.startsWith('wait')) await gate.pass()
      return { id }
    },
    async create(data: { readonly text: string }) {
      ids.push(data.text)
      return data
    },
  }
  return { gate, body, ids, service }
}

const toGet = (path: string, headers = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`

/** Opens a connection that reads. `texts` has what has come. */
function open(t: TestScope, socket: Socket) {
  const got = { text: '', isClosed: false }
  socket.on('data', (chunk: Buffer) => {
    got.text += chunk.toString('latin1')
  })
  socket.on('error', () => undefined).on('close', () => Object.assign(got, { isClosed: true }))
  t.teardown(() => socket.destroy())
  return {
    socket,
    got,
    /** The ids of what was answered, in the order of the answers. */
    get answered(): string[] {
      return [...got.text.matchAll(/\{"(?:id|text)":"([^"]*)"\}/g)].map(([, id = '']) => id)
    },
  }
}

const numbers = (count: number, name: string): string[] =>
  Array.from({ length: count }, (_, index) => `${name}${index}`)

for (const mode of MODES) {
  const start = async (t: TestScope): Promise<ListeningServer & ReturnType<typeof createNotes>> => {
    const notes = createNotes()
    const services = (app: Application): void => {
      app.configure(realtime({ heartbeatMs: 20 }))
      app.use('notes', notes.service)
    }
    return { ...(await startServer(t, mode, { services })), ...notes }
  }
  const connectTo = (t: TestScope, { port }: ListeningServer) => open(t, connect(port, '127.0.0.1'))

  t.test(`${mode}: of pipelined requests some run, and all are answered in order`, async (t) => {
    const server = await start(t)
    const connection = connectTo(t, server)
    const ids = numbers(300, 'wait')
    const post = JSON.stringify({ text: 'a body' })
    const head = `POST ${server.prefix}/notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`
    connection.socket.write(
      ids.map((id) => toGet(`${server.prefix}/notes/${id}`)).join('') +
        `${head}Content-Length: ${post.length}\r\n\r\n`,
    )
    await server.gate.arrivals(MOST)
    await laterTurns()
    t.strictSame(server.ids, ids.slice(0, MOST))
    // More than one read holds, and a body that comes while its request waits.
    const more = numbers(2_000, `more${'x'.repeat(100)}`)
    connection.socket.write(post + more.map((id) => toGet(`${server.prefix}/notes/${id}`)).join(''))
    server.gate.open()
    await until(() => connection.answered.length === ids.length + 1 + more.length)
    t.strictSame(connection.answered, [...ids, 'a body', ...more])
    t.notOk(connection.got.isClosed)
  })

  t.test(`${mode}: what comes behind a stream waits until it has ended`, async (t) => {
    const server = await start(t)
    const connection = connectTo(t, server)
    const { prefix } = server
    const first = numbers(100, 'first')
    connection.socket.write(
      toGet(`${prefix}/notes/stream`) + first.map((id) => toGet(`${prefix}/notes/${id}`)).join(''),
    )
    server.body.write('begun')
    await until(() => connection.got.text.includes('begun'))
    await laterTurns()
    t.ok(server.ids.length < MOST, `${server.ids.length} run behind the stream`)
    const count = server.ids.length
    for (const id of numbers(50, 'later')) {
      connection.socket.write(toGet(`${prefix}/notes/${id}`))
      await laterTurns(2)
    }
    await server.request('/notes/another')
    t.strictSame(server.ids.slice(count), ['another'])
    server.body.end('ended')
    await until(() => connection.answered.length === 150)
    t.strictSame(connection.answered, [...first, ...numbers(50, 'later')])
  })

  t.test(`${mode}: a request behind a stream of events is not run`, async (t) => {
    const server = await start(t)
    const connection = connectTo(t, server)
    const path = `${server.prefix}/notes`
    connection.socket.write(toGet(path, 'Accept: text/event-stream\r\n'))
    await until(() => connection.got.text.includes('event: snapshot'))
    connection.socket.write(
      numbers(100, 'n')
        .map((id) => toGet(`${path}/${id}`))
        .join(''),
    )
    await server.request('/notes/another')
    await laterTurns()
    t.strictSame(server.ids, ['another'])
    // The connection is not read any more: a heartbeat that can't be sent tells that the client has gone.
    connection.socket.destroy()
    await until(() => findStreams(server.app)?.size === 0)
    t.strictSame(server.ids, ['another'])
  })

  t.test(`${mode}: a stream whose turn never comes ends with its connection`, async (t) => {
    const server = await start(t)
    const connection = connectTo(t, server)
    const path = `${server.prefix}/notes`
    connection.socket.write(toGet(`${path}/wait`) + toGet(path, 'Accept: text/event-stream\r\n'))
    await until(() => findStreams(server.app)?.size === 1)
    connection.socket.destroy()
    await until(() => findStreams(server.app)?.size === 0)
    server.gate.open()
  })

  t.test(`${mode}: a connection with too many waiting requests is closed`, async (t) => {
    const server = await start(t)
    const connection = connectTo(t, server)
    connection.socket.write(toGet(`${server.prefix}/notes/wait`).repeat(1_000))
    await until(() => connection.got.isClosed)
    server.gate.open()
    await laterTurns()
    t.equal(server.ids.length, MOST)
    t.equal((await server.request('/notes/1')).status, 200)
  })
}

t.test('HTTPS: of pipelined requests some run, and all are answered in order', async (t) => {
  const certificate = await createCertificate(t)
  if (certificate === null) {
    t.pass('there is no openssl here to make a certificate')
    return
  }
  const { gate, ids, service } = createNotes()
  const app = openApp(t, { https: certificate }).configure(rest())
  app.use('notes', service)
  await app.listen(0)
  const { port } = app.server.address() as { port: number }
  const socket = connectTLS({ port, host: '127.0.0.1', rejectUnauthorized: false })
  const connection = open(t, socket)
  const wanted = numbers(400, `wait${'x'.repeat(100)}`)
  socket.write(wanted.map((id) => toGet(`/notes/${id}`)).join(''))
  await gate.arrivals(MOST)
  await laterTurns()
  t.equal(ids.length, MOST)
  gate.open()
  await until(() => connection.answered.length === wanted.length)
  t.strictSame(connection.answered, wanted)
})

import type { Socket } from 'node:net'
import { connect } from 'node:net'
import multipart from '@fastify/multipart'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { FastifyApplication } from '../../src/transport/index.ts'
import {
  BadRequest,
  bodyParsers,
  createApp,
  Forbidden,
  fastifyApp,
  NotAuthenticated,
  rest,
} from '../../src/transport/index.ts'
import type { TestScope } from '../support/http.ts'
import { startOwnServer } from '../support/own-server.ts'
import { until } from '../support/until.ts'

const FORM = 'multipart/form-data; boundary=x'

/** Returns a form of one field and one file. */
function toForm(file: string, field = 'the title'): string {
  return [
    `--x\r\nContent-Disposition: form-data; name="title"\r\n\r\n${field}\r\n`,
    '--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n',
    `Content-Type: text/plain\r\n\r\n${file}\r\n--x--\r\n`,
  ].join('')
}

/** Makes the body of a form: its fields, and the length of its file. */
async function readForm(request: FastifyRequest): Promise<void> {
  if (!request.isMultipart()) return
  const body: Record<string, unknown> = {}
  try {
    for await (const part of request.parts()) {
      body[part.fieldname] = part.type === 'file' ? (await part.toBuffer()).length : part.value
    }
  } catch (error) {
    if (error instanceof Error && 'statusCode' in error) throw error
    throw new BadRequest('The form can not be read', null, { cause: error })
  }
  request.body = body
}

const echo = {
  find: async () => [],
  create: async (data: object) => data,
  patch: async (_id: unknown, data: object) => data,
  label: async (data: object) => ({ label: data }),
}

function addServices(app: FastifyApplication): void {
  const forms = bodyParsers((routes) => routes.register(multipart, { limits: { fileSize: 1_000 } }))
  app.use('uploads', forms, readForm, echo, { methods: ['find', 'create', 'patch', 'label'] })
  app.use('others', { ...echo })
  const lines = bodyParsers((routes) => {
    routes.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, text, done) => {
      done(null, String(text).split('\n'))
    })
  })
  app.use('lines', lines, { create: async (data: object) => ({ data }) })
}

t.test('a service takes forms at its path, and others do not', async (t) => {
  const server = await startOwnServer(t, addServices)
  const headers = { 'content-type': FORM }
  const body = toForm('some text')
  const expected = { title: 'the title', file: 9 }
  const create = await server.request('/uploads', { body, headers })
  t.match([create.status, create.body], [201, expected])
  const patch = await server.request('/uploads/1', { method: 'PATCH', body, headers })
  t.match([patch.status, patch.body], [200, expected])
  for (const path of ['/uploads', '/uploads/1']) {
    const label = { ...headers, 'x-service-method': 'label' }
    const answer = await server.request(path, { body, headers: label })
    t.match([answer.status, answer.body], [200, { label: expected }], path)
  }
  t.match((await server.request('/uploads', { data: { a: 1 } })).body, { a: 1 })
  const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }
  t.match((await server.request('/uploads', { body: 'a[b]=1', headers: urlencoded })).body, {
    a: { b: '1' },
  })
  const lines = await server.request('/lines', {
    body: 'a\nb',
    headers: { 'content-type': 'text/plain' },
  })
  t.strictSame(lines.body, { data: ['a', 'b'] })
  const refused = [
    ['/others', FORM],
    ['/lines', FORM],
    ['/uploads', 'text/plain'],
    ['/uploads', 'application/xml'],
    ['/uploads', 'multipart/mixed; boundary=x'],
    ['/uploads', `${FORM}; charset=latin1`],
    ['/others', 'text/plain'],
  ] as const
  for (const [path, type] of refused) {
    const answer = await server.request(path, { body, headers: { 'content-type': type } })
    t.match(
      [answer.status, answer.body],
      [415, { name: 'UnsupportedMediaType' }],
      `${path} ${type}`,
    )
  }
})

t.test('what is wrong with a form is answered in the shape of errors', async (t) => {
  const server = await startOwnServer(t, addServices)
  const headers = { 'content-type': FORM }
  const rows = [
    [toForm('x'.repeat(2_000)), 413],
    [toForm('x').slice(0, -8), 400],
    ['no form', 400],
  ] as const
  for (const [body, status] of rows) {
    const answer = await server.request('/uploads', { body, headers })
    t.match([answer.status, answer.body], [status, { code: status }])
  }
})

t.test('a service that takes the place of the one with parsers takes no forms', async (t) => {
  const server = await startOwnServer(t, addServices)
  const app = server.app as FastifyApplication
  app.unuse('uploads')
  app.use('uploads', { ...echo })
  const form = { body: toForm('x'), headers: { 'content-type': FORM } }
  t.equal((await server.request('/uploads', form)).status, 415)
  t.equal((await server.request('/uploads', { data: { a: 1 } })).status, 201)
  t.throws(
    () =>
      app.use(
        'late',
        bodyParsers(() => undefined),
        { ...echo },
      ),
    { message: /only before the start/ },
  )
})

/** Opens a connection and sends the head and the begin of a large form. */
function sendPart(t: TestScope, port: number, path: string, form: string) {
  const socket: Socket = connect(port, '127.0.0.1')
  const got = { text: '', errors: [] as unknown[] }
  socket.on('data', (chunk: Buffer) => {
    got.text += chunk.toString()
  })
  socket.on('error', (error) => got.errors.push(error))
  t.teardown(() => socket.destroy())
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: ${FORM}\r\n`
  socket.write(`${head}Content-Length: ${form.length}\r\n\r\n${form.slice(0, 100_000)}`)
  const count = (): number => [...got.text.matchAll(/HTTP\/1\.1 \d+/g)].length
  return { socket, got, count }
}

t.test('a form rejected before or while it is read can be written to its end', async (t) => {
  const parsers = () => bodyParsers((routes) => routes.register(multipart))
  const server = await startOwnServer(t, (app) => {
    const refuse = (): void => {
      throw new NotAuthenticated('Log in first')
    }
    app.use('notes', { ...echo })
    app.use('before', parsers(), refuse, { ...echo })
    const readPart = async (request: FastifyRequest): Promise<void> => {
      for await (const part of request.parts()) {
        if (part.type === 'file') throw new Forbidden('No files')
      }
    }
    app.use('while', parsers(), readPart, { ...echo })
    // Reads nothing.
    app.use('hook', parsers(), { ...echo })
    app.service('hook').hooks({ before: { create: [refuse] } })
  })
  for (const path of ['/before', '/while', '/hook']) {
    const form = toForm('x'.repeat(3_000_000))
    const { socket, got, count } = sendPart(t, server.port, path, form)
    await until(() => count() === 1)
    socket.write(`${form.slice(100_000)}GET /notes HTTP/1.1\r\nHost: a\r\n\r\n`)
    await until(() => count() === 2 || socket.destroyed)
    t.match(got.text, /HTTP\/1\.1 40[13] [\s\S]*HTTP\/1\.1 200 /, path)
    t.strictSame(got.errors, [])
  }
})

t.test('parsers in a place where they would do nothing are a mistake', (t) => {
  const app = fastifyApp(createApp()).configure(rest())
  const parsers = bodyParsers(() => undefined)
  const use = app.use.bind(app) as (...values: unknown[]) => unknown
  const rows: readonly [values: unknown[], message: RegExp][] = [
    [[parsers], /is for one service/],
    [['/a', parsers], /is for one service/],
    [['a', parsers, fastifyApp(createApp())], /is for one service/],
    [['a', { ...echo }, parsers], /must be before the service/],
    [['a', bodyParsers, { ...echo }], /call it/],
    [['a', multipart, { ...echo }], /bodyParsers\(\(routes\) => routes\.register/],
  ]
  for (const [values, message] of rows) {
    t.throws(() => use(...values), { name: 'TypeError', message }, String(message))
  }
  t.throws(() => bodyParsers(undefined as never), /takes a function/)
  t.end()
})

import { Writable } from 'node:stream'
import t from 'tap'
import type { Params } from '../../../src/transport/index.ts'
import { GeneralError, NotFound, Unavailable } from '../../../src/transport/index.ts'
import { stopClock } from '../../support/clock.ts'
import type { ListeningServer, TestScope } from '../../support/http.ts'
import { startOwnServer } from '../../support/own-server.ts'

interface Line {
  readonly level: number
  readonly msg: string
  readonly reqId?: string
  readonly service?: string
  readonly method?: string
  readonly statusCode?: number
  readonly req?: { readonly method: string; readonly url: string }
  readonly err?: { readonly type: string; readonly message: string; readonly stack: string }
}

const SECRET = 'hunter2-do-not-log'

/** Throws errors that hold secrets wherever something can be hung on an error. */
const leaky = {
  async get(id: string) {
    const cause = Object.assign(new Error(`GET https://idp/?access_token=${SECRET} failed`), {
      token: SECRET,
      config: { headers: { authorization: SECRET } },
    })
    const error = Object.assign(new Error(`see /callback?code=${SECRET}&state=1`), {
      token: SECRET,
      password: SECRET,
      cause,
    })
    if (id === 'circle') Object.assign(error, { cause: error })
    if (id === 'service') throw new GeneralError('Internal', { password: SECRET }, { cause: error })
    if (id === 'object') throw { message: SECRET, password: SECRET }
    throw error
  },
}

const notes = {
  get: async (id: string, params: Params & { requestId?: string }) => {
    if (id === 'none') throw new NotFound('No such note')
    return { id, requestId: params.requestId }
  },
  greet: async () => ({}),
}

/** Opens an application with a logger and returns the lines it has written. */
async function openLogged(
  t: TestScope,
  options: object = {},
): Promise<{ server: ListeningServer; text: () => string; lines: () => Line[] }> {
  const chunks: string[] = []
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  const server = await startOwnServer(
    t,
    (app) => {
      app.use('leaky', leaky).use('notes', notes, { methods: ['get', 'greet'] })
      app.fastify.get('/own', async (request) => {
        request.log.info(
          { password: SECRET, user: { accessToken: SECRET }, a: { b: SECRET } },
          'own',
        )
        request.log.info(`redirect to /?access_token=${SECRET}`)
        return {}
      })
    },
    { fastify: { logger: { level: 'info', stream, ...options } } },
  )
  const text = (): string => chunks.join('')
  const toLines = (): Line[] =>
    text()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  return { server, text, lines: () => toLines().filter(({ msg }) => !/listening/.test(msg)) }
}

t.test('one line a request, with service and method and the id in params (LOG-1)', async (t) => {
  const { server, lines } = await openLogged(t)
  const { body } = await server.request('/notes/1?a=1')
  const [line, ...others] = lines()
  t.strictSame(others, [])
  t.match(line, {
    msg: 'request',
    service: 'notes',
    method: 'get',
    statusCode: 200,
    ms: Number,
    req: { method: 'GET', url: '/notes/1?a=1', address: '127.0.0.1' },
  })
  t.equal((body as { requestId: string }).requestId, line?.reqId)
})

t.test('names what was called, also by another way and when it fails (LOG-1)', async (t) => {
  const { server, lines } = await openLogged(t)
  await server.request('/notes', { data: {}, headers: { 'x-service-method': 'greet' } })
  await server.request('/notes/none')
  await server.request('/notes', { method: 'DELETE' })
  await server.request('/nowhere')
  await server.request('/notes/%zz')
  server.app.use('late', { get: async () => ({}) })
  await server.request('/late/1')
  const summary = lines().map(({ service, method, statusCode }) => [service, method, statusCode])
  t.strictSame(summary, [
    ['notes', 'greet', 200],
    ['notes', 'get', 404],
    [undefined, undefined, 405],
    [undefined, undefined, 404],
    [undefined, undefined, 400],
    ['late', 'get', 200],
  ])
})

t.test('writes no secret, wherever it stands (LOG-1)', async (t) => {
  const { server, text, lines } = await openLogged(t)
  const paths = ['error', 'circle', 'service', 'object'].map((id) => `/leaky/${id}`)
  const urls = ['access_token', '%61ccess_token', 'ACCESS_TOKEN', 'password', 'token', 'code']
  for (const path of [...paths, ...urls.map((name) => `/notes/1?x=1&${name}=${SECRET}`)]) {
    await server.request(path, {
      headers: { authorization: `Bearer ${SECRET}`, cookie: `session=${SECRET}` },
    })
  }
  await server.request(`/nowhere?access_token=${SECRET}`)
  await server.raw(
    `GET /notes/1#access_token=${SECRET} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
  )
  await server.request(`/notes/eyJhbGciOiJIUzI1NiJ9.${SECRET}.${SECRET}`, { method: 'DELETE' })
  const own = await server.request('/own')
  t.equal(own.status, 200)
  t.notMatch(text().replace(`"b":"${SECRET}"`, ''), SECRET)
  t.match(text(), /access_token=\[redacted\]/)
  const errors = lines().filter(({ level }) => level === 50)
  t.equal(errors.length, 4)
  t.match(errors[0]?.err, { type: 'Error', message: 'see /callback?code=[redacted]&state=1' })
  t.match(errors[0]?.err?.stack, /at /)
})

t.test('writes no secret of what programs log themselves (LOG-1)', async (t) => {
  const { server, text, lines } = await openLogged(t)
  const { log } = server.fastify
  const uri = `mongodb+srv://ann:${SECRET}@db.example/notes`
  const driver = Object.assign(new Error(`getaddrinfo failed for ${uri}`), { uri })
  log.error(driver)
  log.error({ err: driver })
  log.error({ failure: driver, uri, hosts: [uri] }, `no ${uri}`)
  for (const name of ['pass', 'otp', 'key', 'sig', 'session', 'sessionId', 'pin']) {
    log.info({ [name]: SECRET, a: { b: { c: { d: { [`x-${name}`]: SECRET } } } } }, 'deep')
    log.info('in text %s and %j', `/?${name}=${SECRET}`, { [name]: SECRET })
    log.child({ [name]: SECRET, user: { [name]: SECRET } }).info('child')
    await server.request(`/notes/1?${name}=${SECRET}`)
  }
  t.notMatch(text(), SECRET)
  t.equal(lines().length, 3 + 4 * 7)
  t.match(lines()[0], { msg: 'getaddrinfo failed for mongodb+srv://[redacted]@db.example/notes' })
})

t.test('a list of keys of the user replaces ours, messages stay clean (LOG-1)', async (t) => {
  const { server, text } = await openLogged(t, { redact: ['email'] })
  const uri = `redis://:${SECRET}@cache`
  server.fastify.log.error(new Error(uri))
  server.fastify.log.error({ err: new Error(uri), email: SECRET })
  server.fastify.log.info(uri)
  t.notMatch(text(), SECRET)
})

t.test('cuts the path of a request at 2 kB (LOG-1)', async (t) => {
  const { server, lines } = await openLogged(t)
  await server.request(`/notes/${'a'.repeat(10_000)}`)
  const { req } = lines()[0] ?? {}
  t.equal(req?.url, `/notes/${'a'.repeat(2_041)}… (10007 characters)`)
})

t.test('no line of the log can be forged by a request (LOG-1)', async (t) => {
  const { server, text, lines } = await openLogged(t)
  await server.request('/notes/a%0d%0a%7B%22level%22%3A60%7D')
  t.notMatch(text(), /^\{"level":60\}/m)
  t.equal(lines().length, 1)
})

t.test('request lines can be switched off, and the serializers replaced', async (t) => {
  const quiet = await openLogged(t, { level: 'warn' })
  await quiet.server.request('/notes/1')
  t.strictSame(quiet.lines(), [])
  const { server, lines } = await openLogged(t, { serializers: { req: () => 'mine' } })
  await server.request('/notes/1')
  t.equal(lines()[0]?.req, 'mine')
})

t.test('where the logger is off, the one of the application gets clean errors', async (t) => {
  const server = await startOwnServer(t, (app) => app.use('leaky', leaky))
  for (const id of ['error', 'service', 'circle', 'object']) await server.request(`/leaky/${id}`)
  t.equal(server.logged.length, 4)
  for (const { details, message } of server.logged) {
    const { err } = details as { err: Error & { token?: unknown } }
    t.equal(err.token, undefined)
    const shown = `${message} ${err.stack} ${JSON.stringify(err)} ${(err.cause as Error)?.stack}`
    t.notMatch(shown, SECRET)
  }
})

t.test('an outage is logged with its stack now and then, not each time (LOG-4)', async (t) => {
  const clock = stopClock(t)
  const { server, text, lines } = await openLogged(t)
  const down = async (): Promise<never> => {
    throw new Unavailable('The database is not available', null, { cause: new Error('refused') })
  }
  server.app.use('down', { get: down })
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, id) => server.fastify.inject(`/down/${id}`)),
  )
  t.ok(answers.every(({ statusCode }) => statusCode === 503))
  const countStacks = (): number => text().match(/"stack":"/g)?.length ?? 0
  t.equal(countStacks(), 1)
  t.equal(lines().filter(({ msg }) => msg === 'request').length, 1_000)
  clock.advance(10_000)
  await server.fastify.inject('/down/1')
  t.equal(countStacks(), 2, 'and again after ten seconds')
})

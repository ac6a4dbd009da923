import t from 'tap'
import type { AuthenticationService } from '../../src/auth/index.ts'
import { protect } from '../../src/auth/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { PreconditionFailed } from '../../src/core/index.ts'
import type { Application, Formatter, Middleware } from '../../src/transport/index.ts'
import { addAccounts } from '../support/accounts.ts'
import { Gate } from '../support/gate.ts'
import { startOwnServer, useAround } from '../support/own-server.ts'

const notes = {
  id: 'id',
  get: async (id: string) => ({ id, text: 'Hello', secret: 's' }),
  patch: async (id: string, data: object, params: { version?: unknown }) => ({
    ...{ id, version: params.version },
    ...data,
  }),
}

const schemas = {
  result: { type: 'object', properties: { id: {}, text: {} } },
  patch: true,
} as const

const chooseTag = (context: HookContext): void => {
  context.http.etag = '"7"'
}

const sendData: Formatter = (_request, reply) => ({ sent: reply.data })

t.test('what a function after the service has added to the fields is sent', async (t) => {
  const addCount: Middleware = (_request, reply) => {
    reply.data = { ...(reply.data as object), count: 2 }
  }
  const configure = (app: object): void => useAround(app, 'notes', notes, addCount, { schemas })
  const data = { id: '1', text: 'Hello', count: 2 }
  const plain = await startOwnServer(t, configure)
  t.strictSame((await plain.request('/notes/1')).body, data)
  const formatted = await startOwnServer(t, configure, { formatter: sendData })
  t.strictSame((await formatted.request('/notes/1')).body, { sent: data })
})

t.test('a formatter gets the external form of what a function after has chosen', async (t) => {
  const sendUser: Middleware = async (_request, reply) => {
    reply.data = await server.app.service('users').get('1')
  }
  const server = await startOwnServer(t, { formatter: sendData }, (app) => {
    useAround(app, 'notes', notes, sendUser)
    app.use('users', { get: async (id: string) => ({ id, password: 'p' }) })
    app.service('users').hooks({ after: { get: [protect('password')] } } as never)
  })
  t.strictSame((await server.request('/notes/1')).body, { sent: { id: '1' } })
})

t.test('a body that a function after the service has chosen has its status', async (t) => {
  const leaveNothing: Middleware = (_request, reply) => {
    reply.data = null
  }
  const server = await startOwnServer(t, (app) => useAround(app, 'notes', notes, leaveNothing))
  t.equal((await server.request('/notes/1')).status, 204)
})

t.test('a formatter that sends by itself and returns something answers once', async (t) => {
  const server = await startOwnServer(
    t,
    {
      formatter: (_request, reply) => {
        reply.send({ first: true })
        return { second: true }
      },
    },
    (app) => {
      // The first byte leaves after the formatter has returned.
      app.fastify.addHook('onSend', async () => void (await null))
      app.use('notes', notes)
    },
  )
  t.strictSame((await server.request('/notes/1')).body, { first: true })
  t.strictSame(server.logged, [])
})

t.test('a service whose records get versions later has tags from then on', async (t) => {
  const versioned = Object.assign(
    Object.create({
      get: async (id: string) => ({ id, version: 3 }),
    }),
    { recordVersions: undefined as unknown },
  )
  const server = await startOwnServer(t, (app) => app.use('notes', versioned))
  t.equal((await server.request('/notes/1')).headers.etag, undefined)
  versioned.recordVersions = { field: 'version' }
  t.match((await server.request('/notes/1')).headers, { etag: /3/ })
})

t.test('a hook that an async function before the service adds counts for its call', async (t) => {
  const addHook: Middleware = async () => {
    await null
    server.app.service('notes').hooks({ after: { get: [chooseTag] } } as never)
  }
  const server = await startOwnServer(t, (app) => useAround(app, 'notes', addHook, notes))
  t.equal((await server.request('/notes/1')).headers.etag, '"7"')
})

t.test('the error of a read names the version that is there now', async (t) => {
  const failing = {
    get: async () => {
      throw new PreconditionFailed('Another version', { current: 4 })
    },
  }
  const server = await startOwnServer(t, (app) => app.use('notes', failing))
  t.match(await server.request('/notes/1'), { status: 412, headers: { etag: /4/ } })
})

t.test('credentials that are parsed after the time limit run no function', async (t) => {
  const parsed = new Gate()
  const seen: string[] = []
  const note: Middleware = () => void seen.push('function')
  const server = await startOwnServer(
    t,
    { handlerTimeoutMs: 20, authentication: { strategies: ['slow'] } },
    (app) => {
      addAccounts(app as unknown as Application)
      const login = app.service('authentication') as unknown as AuthenticationService
      login.register('slow', {
        authenticate: async () => ({}),
        parse: async () => {
          await parsed.pass()
          seen.push('parsed')
          return null
        },
      } as never)
      useAround(app, 'notes', note, notes)
    },
  )
  t.equal((await server.request('/notes/1')).status, 503)
  parsed.open()
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(seen, ['parsed'])
})

t.test('a function before a service runs once, whatever services come or go then', async (t) => {
  for (const change of ['the login goes', 'a login comes']) {
    const seen: string[] = []
    const waiting = new Gate()
    const slow: Middleware = async () => {
      seen.push('slow')
      await waiting.pass()
    }
    const guard: Middleware = () => void seen.push('guard')
    const server = await startOwnServer(t, (app) => {
      if (change === 'the login goes') addAccounts(app as unknown as Application)
      useAround(app, 'notes', slow, guard, notes)
    })
    const answer = server.request('/notes/1')
    await waiting.arrivals(1)
    if (change === 'the login goes') await server.app.unuse('authentication')
    else addAccounts(server.app as unknown as Application)
    waiting.open()
    t.equal((await answer).status, 200)
    t.strictSame(seen, ['slow', 'guard'], change)
  }
})

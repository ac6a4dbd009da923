import type { FastifyReply, FastifyRequest } from 'fastify'
import t from 'tap'
import { InvalidQuery } from '../../../src/core/errors/coded-errors.ts'
import { withHint } from '../../../src/core/errors/hint.ts'
import { ErrorLog } from '../../../src/transport/errors/error-log.ts'
import { BadRequest } from '../../../src/transport/index.ts'
import { createLogger } from '../../core/recording-logger.ts'
import { Gate } from '../../support/gate.ts'
import type { TestScope } from '../../support/http.ts'

const request = { routeOptions: { config: {} } } as FastifyRequest

/** Makes a log, and what tells it of an error in a call of a method. */
function open(t: TestScope, environment = 'development') {
  const former = process.env['NODE_ENV']
  process.env['NODE_ENV'] = environment
  t.teardown(() => {
    if (former === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = former
  })
  const logger = createLogger()
  const log = new ErrorLog(undefined, logger)
  const tell = (hint: string | undefined, method = 'find'): void => {
    const error = new InvalidQuery('No', undefined, hint === undefined ? {} : withHint(hint))
    const reply = { hook: { path: 'users', method } } as unknown as FastifyReply
    log.log(error, error, request, reply)
  }
  return { tell, entries: logger.entries }
}

t.test('logs each hint once for a method of a service', async (t) => {
  const { tell, entries } = open(t)
  for (const method of ['find', 'find', 'get']) tell('try this', method)
  tell('try that')
  const called = { errorCode: 'INVALID_QUERY', service: 'users' }
  t.strictSame(entries, [
    { level: 'warn', details: { ...called, method: 'find' }, message: 'No: try this' },
    { level: 'warn', details: { ...called, method: 'get' }, message: 'No: try this' },
    { level: 'warn', details: { ...called, method: 'find' }, message: 'No: try that' },
  ])
})

t.test('gives the logger of an application a hint as one text, if it takes warnings', async (t) => {
  const texts: unknown[][] = []
  const warn = (...values: unknown[]): unknown => texts.push(values)
  const error = new BadRequest('No', undefined, withHint('try this'))
  const reply = { hook: { path: 'users', method: 'find' } } as unknown as FastifyReply
  const own = { error: () => undefined, warn }
  new ErrorLog(own, null).log(error, error, request, reply)
  new ErrorLog(() => undefined, null).log(error, error, request, reply)
  t.strictSame(texts, [['users find: No: try this']])
})

t.test('tells of a logger that can not take a hint', async (t) => {
  const failed = new Gate()
  const lines: unknown[][] = []
  const logger = {
    error: (...values: unknown[]) => {
      lines.push(values)
      void failed.pass()
    },
    warn: () => undefined,
    info: () => undefined,
  }
  const fail = () => {
    throw new Error('disk full')
  }
  const error = new BadRequest('No', undefined, withHint('try this'))
  const reply = { hook: { path: 'users', method: 'find' } } as unknown as FastifyReply
  for (const warn of [fail, async () => fail(), 'no function']) {
    const own = { error: () => undefined, warn }
    new ErrorLog(own, logger).log(error, error, request, reply)
  }
  await failed.arrivals(3)
  t.match(lines, Array(3).fill([{ err: Error }, 'The logger of errorHandler() failed']))
})

t.test('logs no hint where there is none, and none in production', async (t) => {
  const developing = open(t)
  developing.tell(undefined)
  t.strictSame(developing.entries, [])
  const producing = open(t, 'production')
  producing.tell('try this')
  t.strictSame(producing.entries, [])
})

t.test('logs no more than a hundred hints, as requests may choose the names in them', async (t) => {
  const { tell, entries } = open(t)
  for (let index = 0; index < 200; index += 1) tell(`allow $${index}`)
  t.equal(entries.length, 100)
})

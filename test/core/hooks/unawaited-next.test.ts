import t from 'tap'

import type {
  Application,
  AroundHook,
  HookContext,
  LifecycleHook,
} from '../../../src/core/index.ts'
import { BadRequest, Application as ClientApplication, createApp } from '../../../src/core/index.ts'
import { Gate } from '../../support/gate.ts'
import { startServer } from '../../support/http.ts'
import type { RecordingLogger } from '../recording-logger.ts'
import { createLogger } from '../recording-logger.ts'

const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)
process.on('unhandledRejection', note)
t.teardown(() => process.off('unhandledRejection', note))
t.beforeEach(() => {
  unhandled.length = 0
})

const late = new Error('late')

/** Resolves after all that is to be done now: Node tells of lost promises before. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

interface Opened {
  readonly app: Application
  readonly logger: RecordingLogger
  readonly gate: Gate
}

/** An application with a service whose method fails once its gate is open. */
function open(hooks: (gate: Gate) => AroundHook[], app: Application = createApp()): Opened {
  const logger = createLogger()
  const gate = new Gate()
  app.logger = logger
  app.use('notes', {
    get: async () => {
      await gate.pass()
      throw late
    },
    find: async () => [],
  })
  app.service('notes').hooks({ around: { all: hooks(gate) } })
  return { app, logger, gate }
}

/** Opens the gate, and waits until Node would have told of promises that nobody looks at. */
async function fail({ gate }: Opened): Promise<void> {
  gate.open()
  await nextTurn()
  await nextTurn()
}

function errorsOf({ logger }: Opened): unknown[] {
  return logger.entries.filter(({ level }) => level === 'error').map(({ details }) => details)
}

async function startAndReturn(_context: HookContext, next: () => Promise<void>): Promise<void> {
  next()
}
async function startAndThrow(_context: HookContext, next: () => Promise<void>): Promise<void> {
  next()
  throw new BadRequest('no')
}
function throwAtOnce(_context: HookContext, next: () => Promise<void>): void {
  next()
  throw new BadRequest('no')
}
function returnAtOnce(_context: HookContext, next: () => Promise<void>): void {
  next()
}
async function startLater(_context: HookContext, next: () => Promise<void>): Promise<void> {
  await nextTurn()
  next()
  throw new BadRequest('no')
}
async function race(_context: HookContext, next: () => Promise<void>): Promise<void> {
  await Promise.race([next(), nextTurn()])
}
const wait: AroundHook = async (_context, next) => {
  await next()
}
const map: AroundHook = async (_context, next) => {
  try {
    await next()
  } catch (cause) {
    throw new Error('mapped', { cause })
  }
}

for (const hook of [startAndReturn, startAndThrow, throwAtOnce, returnAtOnce, startLater, race]) {
  for (const [place, around] of Object.entries({
    alone: [hook],
    innermost: [wait, wait, hook],
    'around others': [hook, wait, wait],
    'between others': [map, hook, wait],
  })) {
    t.test(`what fails after a hook's end is logged once: ${hook.name}, ${place}`, async (t) => {
      const opened = open(() => around)
      await opened.app
        .service('notes')
        .get(1)
        .catch(() => undefined)
      await fail(opened)
      t.strictSame(unhandled, [])
      t.match(errorsOf(opened), [{ err: late, service: 'notes', method: 'get', hook: hook.name }])
    })
  }
}

t.test('what fails while an outer hook goes on is logged', async (t) => {
  const closing = new Gate()
  const opened = open(() => [
    async (_context, next) => {
      await next()
      await closing.pass()
    },
    startAndReturn,
  ])
  const call = opened.app.service('notes').get(1)
  await closing.arrivals(1)
  await fail(opened)
  t.match(errorsOf(opened), [{ err: late, hook: 'startAndReturn' }])
  closing.open()
  await call
  t.strictSame(unhandled, [])
  t.equal(errorsOf(opened).length, 1)
})

t.test('what an inner hook throws after a call that went well is logged', async (t) => {
  const forget: AroundHook = async (context, next) => {
    next()
    context.result = []
  }
  for (const outer of [[], [wait]]) {
    const opened = open((gate) => [
      ...outer,
      forget,
      async (_context, next) => {
        await next()
        await gate.pass()
        throw late
      },
    ])
    t.strictSame(await opened.app.service('notes').find(), [])
    await opened.gate.arrivals(1)
    await fail(opened)
    t.match(errorsOf(opened), [{ err: late, service: 'notes', method: 'find', hook: 'forget' }])
    t.strictSame(unhandled, [])
  }
})

t.test('what a hook throws while one around it goes on without waiting is logged', async (t) => {
  const closing = new Gate()
  const opened = open(() => [
    async function goOn(context, next) {
      next()
      await closing.pass()
      context.result = []
    },
    startAndThrow,
  ])
  const call = opened.app.service('notes').get(1)
  await closing.arrivals(1)
  await fail(opened)
  t.match(errorsOf(opened), [{ err: late, hook: 'startAndThrow' }])
  t.strictSame(unhandled, [])
  closing.open()
  t.strictSame(await call, [])
})

t.test('an application of a client logs it as well', async (t) => {
  const opened = open(() => [startAndReturn], new ClientApplication() as Application)
  await opened.app.service('notes').get(1)
  await fail(opened)
  t.match(errorsOf(opened), [{ err: late, hook: 'startAndReturn' }])
  t.strictSame(unhandled, [])
})

t.test('what a hook of another layer or an inner around hook throws late is logged', async (t) => {
  for (const hook of [startAndReturn, startAndThrow]) {
    for (const inner of ['before', 'around', 'after', 'error'] as const) {
      const opened = open(() => [hook])
      const { app, gate } = opened
      const throwLater: AroundHook = async (context, next) => {
        context.result ??= []
        await gate.pass()
        if (inner === 'around') await next()
        throw late
      }
      if (inner === 'error') {
        app.service('notes').hooks({ before: [() => Promise.reject(new Error('first'))] })
      }
      app.service('notes').hooks({ [inner]: [throwLater] } as object)
      await app
        .service('notes')
        .find()
        .catch(() => undefined)
      await fail(opened)
      t.strictSame(unhandled, [], inner)
      t.match(errorsOf(opened), [{ err: late }], inner)
    }
  }
})

t.test('an error that hooks wait for, and perhaps catch, is not logged', async (t) => {
  const swallow: AroundHook = async (context, next) => {
    await next().catch(() => undefined)
    context.result = null
  }
  const awaitLater: AroundHook = async (_context, next) => {
    const rest = next()
    await nextTurn()
    await rest
  }
  const passOn: AroundHook = (_context, next) => next()
  const again: AroundHook = (_context, next) => next().catch(() => next())
  for (const around of [
    [wait],
    [passOn, map],
    [wait, swallow],
    [swallow, wait],
    [awaitLater, wait],
    [again, wait],
  ]) {
    const opened = open(() => around)
    opened.gate.open()
    await opened.app
      .service('notes')
      .get(1)
      .catch(() => undefined)
    await fail(opened)
    t.strictSame(errorsOf(opened), [])
  }
})

t.test('a hook that ends too early around setup ends no process', async (t) => {
  const logger = createLogger()
  const gate = new Gate()
  const setup = async (): Promise<never> => {
    await gate.pass()
    throw late
  }
  const app = createApp()
  app.logger = logger
  app.use('notes', { find: async () => [], setup })
  app.hooks({ setup: [startAndReturn, wait] as readonly unknown[] as LifecycleHook[] })
  await app.setup()
  gate.open()
  await nextTurn()
  t.strictSame(unhandled, [])
  const errors = logger.entries.filter(({ level }) => level === 'error')
  t.match(errors, [{ details: { err: late, method: 'setup', hook: 'startAndReturn' } }])
})

t.test('over HTTP the answer comes first, and the log has what fails after it', async (t) => {
  const gate = new Gate()
  const logger = createLogger()
  const server = await startServer(t, 'standalone', {
    services: (app) => {
      app.logger = logger
      app.use('notes', { get: () => gate.pass().then(() => Promise.reject(late)) })
      app.service('notes').hooks([startAndThrow])
    },
  })
  t.match(await server.request('/notes/1'), { status: 400, body: { message: 'no' } })
  gate.open()
  await nextTurn()
  t.strictSame(unhandled, [])
  t.match(
    logger.entries.filter(({ level }) => level === 'error'),
    [{ details: { err: late, service: 'notes', method: 'get' } }],
  )
})

t.test('a second next() that nobody waits for is logged', async (t) => {
  const { app, logger } = open(() => [
    async (_context, next) => {
      await next()
      next()
    },
  ])
  t.strictSame(await app.service('notes').find(), [])
  await nextTurn()
  t.match(logger.entries, [{ level: 'error', details: { err: /next\(\) called multiple times/ } }])
  t.strictSame(unhandled, [])
})

t.test('a hook that uses its context for another call is looked at still', async (t) => {
  let isInner = false
  const opened = open(() => [
    async (context, next) => {
      if (isInner) {
        context.result = []
        return
      }
      next()
      isInner = true
      await opened.app.service('notes').get(context as never)
    },
  ])
  await opened.app.service('notes').get(1)
  await fail(opened)
  t.match(errorsOf(opened), [{ err: late }])
  t.strictSame(unhandled, [])
})

const ENDS: Readonly<Record<string, (context: HookContext) => void>> = {
  'has a result': (context) => {
    context.result = []
  },
  'has failed': () => {
    throw new BadRequest()
  },
}

for (const [end, run] of Object.entries(ENDS)) {
  t.test(`next() after a call that ${end} is looked at`, async (t) => {
    const start = new Gate()
    const opened = open(() => [
      async (context, next) => {
        start.pass().then(() => {
          delete context.result
          next()
        })
        run(context)
      },
    ])
    await Promise.allSettled([opened.app.service('notes').get(1)])
    start.open()
    await nextTurn()
    await fail(opened)
    t.match(errorsOf(opened), [{ err: late }])
    t.strictSame(unhandled, [])
  })
}

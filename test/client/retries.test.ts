import t from 'tap'

import { sendWithRetries } from '../../src/client/answers/retries.ts'
import type { Answer, ConnectionOptions } from '../../src/client/index.ts'
import { rest } from '../../src/client/index.ts'
import type { AnyService } from '../../src/core/index.ts'
import { createApp, NotFound, Unavailable } from '../../src/core/index.ts'
import { holdTimers } from '../support/clock.ts'
import { until } from '../support/until.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'
import { startOddServer } from './odd-server.ts'

interface TestScope {
  teardown(close: () => unknown): void
}

/** Has nothing be added by chance. */
function stopChance(t: TestScope): void {
  const { random } = Math
  t.teardown(() => {
    Math.random = random
  })
  Math.random = () => 0
}

function toAnswer(status: number, retryAfter?: string): Answer {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  return { status, readHeaders: () => headers, body: '' }
}

/** What comes back for each request, how long each wait is, and what comes of it. */
const CASES: readonly [
  title: string,
  outcomes: readonly (Answer | Error)[],
  waits: readonly number[],
  last: Answer | Error,
][] = (() => {
  const good = toAnswer(200)
  const bad = toAnswer(500)
  const away = toAnswer(503)
  const gone = new Unavailable('No answer')
  const missing = new NotFound('No record')
  const late = toAnswer(503, '31')
  const taken = toAnswer(409)
  return [
    ['an answer is an answer', [good], [], good],
    ['an error of the server stays', [bad], [], bad],
    ['an error of the caller stays', [missing], [], missing],
    ['Retry-After in seconds (CLI-1)', [toAnswer(503, '1'), good], [1_000], good],
    ['Retry-After of 0', [toAnswer(429, '0'), good], [0], good],
    ['a date that has passed', [toAnswer(429, 'Thu, 01 Jan 2015 00:00:00 GMT'), good], [0], good],
    ['a Retry-After that is none', [toAnswer(503, 'soon'), good], [250], good],
    ['longer waits each time', [toAnswer(502), toAnswer(504), good], [250, 500], good],
    ['no connection', [gone, gone, good], [250, 500], good],
    ['the last answer, when all attempts fail', [gone, gone, away], [250, 500], away],
    ['the last error, when all attempts fail', [away, away, gone], [250, 500], gone],
    ['a server that is away for long', [late], [], late],
    ['a conflict that passes', [toAnswer(409, '1'), good], [1_000], good],
    ['a conflict that stays', [taken], [], taken],
  ]
})()

for (const [title, outcomes, waits, last] of CASES) {
  t.test(`a read that may be sent again twice: ${title}`, async (t) => {
    stopChance(t)
    const held = [0, 250, 500, 1_000].map((ms) => ({ ms, timers: holdTimers(t, ms) }))
    const left = [...outcomes]
    const send = async (): Promise<Answer> => {
      const outcome = left.shift()
      if (outcome === undefined) throw new TypeError('Sent once too often')
      if (outcome instanceof Error) throw outcome
      return outcome
    }
    const result = sendWithRetries(send, { retries: 2, signal: undefined }).catch((error) => error)
    for (const waitMs of waits) {
      const timers = held.find(({ ms }) => ms === waitMs)?.timers
      if (timers === undefined) throw new TypeError(`${waitMs} ms are not held back`)
      await until(() => timers.size === 1)
      timers.fire()
    }
    t.equal(await result, last)
    t.equal(left.length, 0)
  })
}

t.test('what is added by chance makes a wait longer, never shorter', async (t) => {
  const { random } = Math
  t.teardown(() => {
    Math.random = random
  })
  Math.random = () => 0.5
  const timers = holdTimers(t, 1_125)
  const answers = [toAnswer(503, '1'), toAnswer(200)]
  const send = async (): Promise<Answer> => answers.shift() as Answer
  const result = sendWithRetries(send, { retries: 1, signal: undefined })
  await until(() => timers.size === 1)
  timers.fire()
  t.match(await result, { status: 200 })
})

for (const [library, { connect }] of Object.entries(CONNECTORS)) {
  t.test(library, async (t) => {
    const getService = (url: string, options?: ConnectionOptions): AnyService =>
      createApp().configure(connect(url, options)).service('things')

    /** A server that has an answer from the third request on. */
    const start = () => {
      let count = 0
      return startOddServer(t, (_request, response) => {
        count += 1
        if (count % 3 === 0) response.end('{"a":1}')
        else response.writeHead(503, { 'retry-after': '0' }).end()
      })
    }

    t.test('reads are sent again where that is asked for', async (t) => {
      const { url, requests } = await start()
      const service = getService(url, { retries: 2 })
      t.strictSame(await service.find({ query: { b: 1 } }), { a: 1 })
      t.strictSame(await service.get(1), { a: 1 })
      t.strictSame(
        requests.map((request) => request.url),
        [...Array(3).fill('/things?b=1'), ...Array(3).fill('/things/1')],
      )
    })

    t.test('one call may say otherwise', async (t) => {
      const { url, requests } = await start()
      await t.rejects(getService(url, { retries: 2 }).find({ connection: { retries: 0 } }), {
        name: 'Unavailable',
      })
      t.equal(requests.length, 1)
      t.strictSame(await getService(url).find({ connection: { retries: 1 } }), { a: 1 })
      await t.rejects(getService(url).find({ connection: { retries: -1 } }), /'retries' must be/)
      t.throws(() => connect(url, { retries: 1.5 }), /'retries' must be a whole number/)
      t.throws(() => connect(url, { connection: { retry: 1 } }), /it is called retries/)
    })

    t.test('an export that breaks off is not asked for again', async (t) => {
      const { url, requests } = await startOddServer(t, (_request, response) => {
        if (requests.length === 1) {
          response.writeHead(503, { 'retry-after': '0' }).end()
          return
        }
        response.writeHead(200, { 'content-type': 'text/csv' })
        response.write('a,b\r\n', () => response.destroy())
      })
      for (const accept of ['Text/CSV', 'application/x-ndjson']) {
        const options = { retries: 3, headers: { accept } }
        const asked = getService(url, options).find({ connection: { responseType: 'text' } })
        await t.rejects(asked, { name: 'Unavailable' })
      }
      t.equal(requests.length, 3)
    })

    t.test('writes without a key are never sent again (CLI-2)', async (t) => {
      const { url, requests } = await startOddServer(t, (_request, response) =>
        response.writeHead(503, { 'retry-after': '0' }).end(),
      )
      const connection = connect(url, { retries: 9 })
      const methods = ['create', 'update', 'patch', 'remove', 'deliver']
      const app = createApp().configure(connection)
      const things = app.use('things', connection.service('things'), { methods }).service('things')
      const calls = [
        () => things.create({}),
        () => things.update(1, {}),
        () => things.patch(1, {}),
        () => things.remove(1),
        () => things['deliver']?.({}),
      ]
      for (const call of calls) await t.rejects(call() as Promise<unknown>, { name: 'Unavailable' })
      t.equal(requests.length, calls.length)
    })

    t.test('writes with a key are sent again, with the same key (CLI-2)', async (t) => {
      const { url, requests } = await start()
      const options = { retries: 2, headers: { 'x-a': '1' }, idempotencyKeys: ['/things/'] }
      const connection = connect(url, options)
      const methods = ['create', 'update', 'patch', 'remove', 'find', 'deliver']
      const app = createApp().configure(connection)
      const things = app.use('things', connection.service('things'), { methods }).service('things')
      const calls = [
        () => things.create({}),
        () => things.update(1, {}),
        () => things.patch(1, {}),
        () => things.remove(1),
        () => things['deliver']?.({}),
      ]
      for (const call of calls) t.strictSame(await call(), { a: 1 })
      const keys = requests.map(({ headers }) => String(headers['idempotency-key']))
      t.equal(keys.length, calls.length * 3)
      t.strictSame(
        keys,
        calls.flatMap((_call, index) => Array(3).fill(keys[index * 3])),
      )
      t.equal(new Set(keys).size, calls.length, 'a new key for each call')
      for (const key of keys) t.match(key, /^[0-9a-f]{32}$/)
      await things.find()
      t.equal(requests.at(-1)?.headers['idempotency-key'], undefined)
    })

    t.test('keys are for the services that are named, or all (CLI-2)', async (t) => {
      const { url, requests } = await startOddServer(t, (_request, response) =>
        response.writeHead(503, { 'retry-after': '0' }).end(),
      )
      const countOf = async (options: ConnectionOptions, params: object = {}): Promise<number> => {
        const before = requests.length
        await t.rejects(getService(url, { retries: 2, ...options }).create({}, params), {
          code: 503,
        })
        return requests.length - before
      }
      t.equal(await countOf({ idempotencyKeys: true }), 3)
      t.equal(await countOf({ idempotencyKeys: ['others'] }), 1)
      t.equal(await countOf({ idempotencyKeys: false }), 1)
      t.equal(await countOf({ idempotencyKeys: true, retries: 0 }), 1)
      const headers = { 'Idempotency-Key': 'mine' }
      t.equal(await countOf({}, { headers }), 3, 'a key of the caller')
      t.equal(await countOf({ idempotencyKeys: true }, { headers }), 3)
      t.equal(requests.at(-1)?.headers['idempotency-key'], 'mine')
      t.throws(() => connect(url, { idempotencyKeys: 'things' as never }), /true, false or a list/)
    })

    t.test('a wait ends with its call', async (t) => {
      const timers = holdTimers(t, 20_000)
      stopChance(t)
      const { url, requests } = await startOddServer(t, (_request, response) =>
        response.writeHead(503, { 'retry-after': '20' }).end(),
      )
      const controller = new AbortController()
      const connection = { retries: 1, signal: controller.signal }
      const call = errorOf(getService(url).find({ connection }))
      await until(() => timers.size === 1)
      controller.abort()
      t.match(await call, { name: 'AbortError' })
      t.equal(timers.size, 0, 'nothing keeps the process alive')
      t.equal(requests.length, 1)
    })
  })
}

t.test('a server that is not there yet is asked again', async (t) => {
  const { url, requests } = await startOddServer(t, (_request, response) => response.end('[]'))
  stopChance(t)
  const timers = holdTimers(t, 250)
  let isThere = false
  // A library whose first request finds nobody.
  const send: typeof fetch = async (...values) => {
    if (isThere) return fetch(...values)
    throw new TypeError('fetch failed')
  }
  const connection = rest(url).fetch(send, { retries: 1 })
  const call = createApp().configure(connection).service('things').find()
  await until(() => timers.size === 1)
  isThere = true
  timers.fire()
  t.strictSame(await call, [])
  t.equal(requests.length, 1)
})

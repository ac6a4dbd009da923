import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { RemoteService } from '../../src/client/index.ts'
import {
  BadRequest,
  Conflict,
  createApp,
  GeneralError,
  NotAcceptable,
  Unavailable,
} from '../../src/core/index.ts'
import type { TestScope } from '../support/http.ts'
import { until } from '../support/until.ts'
import { CONNECTORS } from './connectors.ts'
import { errorOf } from './error-of.ts'
import { startOddServer } from './odd-server.ts'

const LINES = { 'content-type': 'application/x-ndjson; charset=utf-8' }

/** Resolves to all that a stream brings, and to what it ends with. */
async function readAll(stream: AsyncIterable<unknown>, into: unknown[] = []): Promise<unknown[]> {
  for await (const record of stream) into.push(record)
  return into
}

for (const [library, { connect, hasStreams }] of Object.entries(CONNECTORS)) {
  const open = async (t: TestScope, answer: (response: ServerResponse) => unknown) => {
    const { url, requests } = await startOddServer(t, (_request, response) => answer(response))
    const app = createApp().configure(connect(url))
    return { requests, things: app.service('things') as unknown as RemoteService }
  }

  if (!hasStreams) {
    t.test(`${library} has no streams, and says so`, async (t) => {
      const { things, requests } = await open(t, (response) => response.end())
      const error = await errorOf(readAll(things.stream()))
      t.ok(error instanceof BadRequest)
      t.match(error.message, `${library} has no answers as streams`)
      t.strictSame(requests, [])
    })
    continue
  }

  t.test(`${library}: records come however the bytes are cut`, async (t) => {
    const bytes = Buffer.from('{"n":1,"text":"ü"}\n{"n":2}\n')
    const { things, requests } = await open(t, async (response) => {
      response.writeHead(200, LINES)
      for (const byte of bytes) {
        await new Promise((resolve) => response.write(Buffer.of(byte), resolve))
      }
      response.end()
    })
    const records = await readAll(things.stream({ query: { n: { $gt: 0 } } }))
    t.strictSame(records, [{ n: 1, text: 'ü' }, { n: 2 }])
    t.match(requests, [
      { url: '/things?n%5B%24gt%5D=0', headers: { accept: 'application/x-ndjson' } },
    ])
  })

  t.test(`${library}: an empty stream is one without records`, async (t) => {
    const { things } = await open(t, (response) => response.writeHead(200, LINES).end())
    t.strictSame(await readAll(things.stream()), [])
  })

  const failing = async (t: TestScope, answer: (response: ServerResponse) => unknown) => {
    const { things } = await open(t, answer)
    const records: unknown[] = []
    return { error: await errorOf(readAll(things.stream(), records)), records }
  }

  t.test(`${library}: a broken answer rejects (STR-2)`, async (t) => {
    const { error, records } = await failing(t, (response) => {
      response.writeHead(200, LINES).write('{"n":1}\n', () => response.destroy())
    })
    t.ok(error instanceof Unavailable, String(error))
    t.ok(records.length <= 1)
  })

  t.test(`${library}: half a record at a clean end rejects (STR-2)`, async (t) => {
    const { error, records } = await failing(t, (response) => {
      response.writeHead(200, LINES).end('{"n":1}\n{"n":2}')
    })
    t.ok(error instanceof Unavailable)
    t.strictSame(records, [{ n: 1 }])
  })

  t.test(`${library}: the line of an error rejects with it (STR-2)`, async (t) => {
    const line = JSON.stringify({ $error: { name: 'Conflict', code: 409, message: 'no' } })
    const { error, records } = await failing(t, (response) => {
      response.writeHead(200, LINES).end(`{"n":1}\n${line}\n`)
    })
    t.ok(error instanceof Conflict)
    t.equal(error.message, 'no')
    t.strictSame(records, [{ n: 1 }])
  })

  t.test(`${library}: what is no stream of records is refused`, async (t) => {
    const cases: [number, string, string, unknown][] = [
      [200, 'application/json', '{"total":1}\n', NotAcceptable],
      [204, 'text/plain', '', NotAcceptable],
      [200, 'application/x-ndjson', 'no JSON\n', GeneralError],
      [409, 'application/json', '{"name":"Conflict","code":409,"message":"no"}', Conflict],
    ]
    for (const [status, type, body, ErrorClass] of cases) {
      const { error } = await failing(t, (response) =>
        response.writeHead(status, { 'content-type': type }).end(body),
      )
      t.ok(error instanceof (ErrorClass as typeof Error), `${status} ${type}: ${error}`)
    }
    const { things, requests } = await open(t, (response) => response.end())
    const asked = things.stream({ connection: { responseType: 'text' } })
    t.ok((await errorOf(readAll(asked))) instanceof TypeError)
    t.strictSame(requests, [])
  })

  t.test(`${library}: a loop that ends early ends the request (STR-3)`, async (t) => {
    let hasLeft = false
    const { things } = await open(t, (response) => {
      response.on('close', () => {
        hasLeft = true
      })
      response.writeHead(200, LINES).write('{"n":1}\n{"n":2}\n')
    })
    for await (const record of things.stream()) {
      t.strictSame(record, { n: 1 })
      break
    }
    await until(() => hasLeft)
  })

  t.test(`${library}: a signal ends the loop with its reason`, async (t) => {
    const { things } = await open(t, (response) => {
      response.writeHead(200, LINES).write('{"n":1}\n')
    })
    const controller = new AbortController()
    const stream = things.stream({ connection: { signal: controller.signal } })
    t.strictSame((await stream.next()).value, { n: 1 })
    const next = errorOf(stream.next())
    controller.abort(new Error('enough'))
    t.equal((await next).message, 'enough')
  })
}

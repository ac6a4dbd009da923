import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { createApp, remex } from '../../../src/transport/index.ts'
import { openDatabase } from '../../support/database.ts'
import { openHost } from '../../support/own-server.ts'

const { empty } = await openDatabase(t)

t.test('an error midway ends a stream of HTTP/2 by an error code (STR-2)', async (t) => {
  const Model = await empty('tasks')
  await Model.insertMany(Array.from({ length: 250 }, (_none, n) => ({ n })))
  const app = createApp()
  app.use('tasks', new MongoDBService({ Model, limits: { stream: 250 } }))
  let left = Number.POSITIVE_INFINITY
  const after = (): void => {
    left -= 1
    if (left === 0) throw new Error('midway')
  }
  app.service('tasks').hooks({ after: { find: [after] } })
  const host = openHost(t, { http2: true })
  host.register(remex, { app: app as never })
  await host.listen({ port: 0, host: '127.0.0.1' })
  const session = connect(`http://127.0.0.1:${(host.server.address() as AddressInfo).port}`)
  t.teardown(() => session.close())
  const read = async () => {
    const request = session.request({ ':path': '/tasks', accept: 'application/x-ndjson' })
    const failures: unknown[] = []
    request.on('error', (error) => failures.push(error))
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    await new Promise((resolve) => request.once('close', resolve))
    return { lines: text.trimEnd().split('\n'), failures, code: request.rstCode }
  }
  const whole = await read()
  t.match([whole.lines.length, whole.failures, whole.code], [250, [], 0])
  left = 3
  const broken = await read()
  t.equal(broken.code, 2)
  t.equal(broken.failures.length, 1)
  t.match(broken.lines.at(-1), /^\{"\$error":/)
})

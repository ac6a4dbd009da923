import { startOddServer } from '../odd-server.ts'
import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import { sameNamed } from './named-keys.ts'

/** What a connection is for an application. */
export function testConnections(
  t: Cases,
  { url, client, connect, createApp, expected }: Cell,
): void {
  t.test('an application has one default connection', async (t) => {
    const app = createApp()
    t.equal(app.rest, client.library)
    t.throws(() => app.configure(connect()), {
      message: 'Only one default client provider can be configured',
    })
  })

  t.test('services are reached without an application', async (t) => {
    const { service, Service } = connect()
    const echo = service('echo')
    t.equal(echo.name, 'echo')
    t.ok(echo instanceof Service)
    sameNamed(t, await echo.get(1, {}), { id: '1' })
    const settings = { name: 'echo', base: url, connection: client.library, options: {} }
    sameNamed(t, await new Service(settings).get(2, {}), { id: '2' })
    sameNamed(t, await outcomeOf(() => echo.get(1)), expected.callWithoutParams)
  })

  t.test('several servers can be behind one application', async (t) => {
    const type = { 'content-type': 'application/json' }
    const { url, requests } = await startOddServer(t, (_request, response) =>
      response.writeHead(200, type).end('{"from":"elsewhere"}'),
    )
    const app = createApp().use('elsewhere', client.connect(url).service('echo'))
    t.strictSame(await app.service('elsewhere').get(1), { from: 'elsewhere' })
    sameNamed(t, await app.service('echo').get(1), { id: '1' })
    sameNamed(t, requests, [{ method: 'GET', url: '/echo/1' }])
  })

  t.test('takes the class of the services as the second argument or the third', async (t) => {
    class Own extends connect().Service {
      override getQuery(): string {
        return '?own=1'
      }
    }
    for (const connection of [client.connect(url, Own), client.connect(url, {}, Own)]) {
      t.equal(connection.Service, Own)
      t.ok(connection.service('echo') instanceof Own)
      const app = client.createApp().configure(connection)
      sameNamed(t, await app.service('echo').find({ query: { a: 1 } }), { query: { own: '1' } })
    }
  })

  t.test('base and path are joined by one slash', async (t) => {
    const facts = { method: 'find', ...expected.request({ sent: { url: '/echo' } }) }
    for (const path of ['echo', '/echo', 'echo/', '/echo/']) {
      sameNamed(t, await connect().service(path).find({}), facts)
    }
    const slashed = client.connect(`${url}/`).service('echo')
    sameNamed(t, await outcomeOf(() => slashed.find({})), expected.slashAfterBase)
  })
}

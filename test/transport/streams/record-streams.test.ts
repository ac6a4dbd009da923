import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import type { AnyService, Application, Params, RecordStream } from '../../../src/core/index.ts'
import type { RestOptions, ServiceOptions } from '../../../src/transport/index.ts'
import { openapiDocument } from '../../../src/transport/index.ts'
import type { Accounts } from '../../support/accounts.ts'
import { addAccounts, logIn } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import type { TestScope } from '../../support/http.ts'
import { idleCollection } from '../../support/idle-collection.ts'
import { startOwnServer } from '../../support/own-server.ts'
import { CREDENTIALS } from '../../support/users.ts'

const { empty } = await openDatabase(t)

const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

/** The records of a service that notes the queries which it gets. */
class Orders {
  readonly maxStreamed: number
  readonly queries: unknown[] = []

  constructor(maxStreamed = 10) {
    this.maxStreamed = maxStreamed
  }

  async find({ query }: Params = {}): Promise<object[]> {
    this.queries.push(query)
    return [{ id: 1 }]
  }

  async streamRecords({ query }: Params): Promise<RecordStream> {
    this.queries.push(query)
    async function* read() {
      yield [{ id: 1, customer: 'Ann', text: '=1+1' }]
    }
    return { isPage: false, batches: read() }
  }
}

/** Starts a service, at a path, that a browser asks for by links. */
async function start(
  t: TestScope,
  service: object,
  path = 'orders',
  options: ServiceOptions & { readonly served?: RestOptions } = {},
) {
  const { served, ...ofService } = options
  const server = await startOwnServer(t, served, (app) => {
    app.use(path, service as AnyService, ofService)
  })
  const follow = (url: string, headers: Record<string, string> = { accept: HTML }) =>
    server.request(url, { headers })
  return { ...server, follow }
}

t.test('a link asks for a format, whatever Accept says, and browsers save a file', async (t) => {
  const orders = new Orders()
  const { follow } = await start(t, orders)
  const csv = await follow('/orders?$format=csv&$select[]=id&$select[]=text')
  t.match(csv, { status: 200, text: "id,text\r\n1,'=1+1\r\n" })
  t.match(csv.headers, {
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename="orders.csv"',
    'x-content-type-options': 'nosniff',
    vary: 'accept',
  })
  const ndjson = await follow('/orders?%24format=ndjson', { accept: 'text/csv' })
  t.match(ndjson.headers, { 'content-disposition': 'attachment; filename="orders.ndjson"' })
  t.match(JSON.parse(ndjson.text), { id: 1 })
  t.strictSame(orders.queries, [{ $select: ['id', 'text'] }, {}])
})

t.test('Accept alone names no file', async (t) => {
  const { follow } = await start(t, new Orders())
  const { headers } = await follow('/orders', { accept: 'application/x-ndjson' })
  t.match(headers, { 'content-type': /ndjson/, 'content-disposition': undefined })
  t.match((await follow('/orders')).headers, { 'content-type': /^application\/json/ })
})

t.test('a HEAD for a link has the headers alone', async (t) => {
  const server = await start(t, new Orders())
  const { headers, text } = await server.request('/orders?$format=ndjson', { method: 'HEAD' })
  t.match(headers, { 'content-disposition': 'attachment; filename="orders.ndjson"' })
  t.equal(text, '')
})

t.test('a format that does not exist is an error of the usual shape', async (t) => {
  const orders = new Orders()
  const { follow } = await start(t, orders)
  for (const query of [
    '$format=exe',
    '$format=CSV',
    '$format=',
    '$format',
    '$format=json',
    '$format=constructor',
    '$format=csv%0d%0aset-cookie:a=b',
    '$format=csv&$format=csv',
    '$format[]=csv',
    '$format[0]=csv',
    '$format[name]=csv',
    '$format[$in][]=csv',
  ]) {
    const { status, headers, body } = await follow(`/orders?${query}`, { accept: '*/*' })
    t.match(
      { status, body },
      {
        status: 400,
        body: { name: 'BadRequest', code: 400, message: '$format must be one of ndjson, csv' },
      },
      query,
    )
    t.equal(headers['content-disposition'], undefined)
  }
  t.strictSame(orders.queries, [])
})

t.test('an error before the first record is not a file', async (t) => {
  const { follow } = await start(t, new Orders())
  const program = await follow('/orders?$format=csv', { accept: '*/*' })
  t.match(program.body, { code: 400, message: /^CSV needs columns/ })
  const browser = await follow('/orders?$format=csv')
  for (const { status, headers } of [program, browser]) {
    t.match([status, headers['content-disposition']], [400, undefined])
  }
  t.match(browser.headers, { 'content-type': /^text\/html/ })
})

t.test('a field named format is a condition like any other', async (t) => {
  const Model = await empty('books')
  await Model.insertMany([
    { _id: 1 as never, format: 'csv' },
    { _id: 2 as never, format: 'pdf' },
  ])
  const properties = { _id: { type: 'number' }, format: { type: 'string' } } as const
  const schemas = {
    entity: { type: 'object', properties, additionalProperties: false },
    create: true,
  } as const
  const books = new MongoDBService({ Model, limits: { stream: 10 } })
  const { follow } = await start(t, books, 'books', { schemas })
  t.strictSame((await follow('/books?format=csv')).body, [{ _id: 1, format: 'csv' }])
  t.equal((await follow('/books?format=pdf&$format=csv')).text, '_id,format\r\n2,pdf\r\n')
})

t.test('a service without streams gets the name as any other', async (t) => {
  const asked = new Orders(0)
  const own = { find: async ({ query }: Params) => [query] }
  const { follow } = await start(t, asked)
  t.equal((await follow('/orders?$format=csv')).status, 200)
  t.strictSame(asked.queries, [{ $format: 'csv' }])
  const other = await start(t, own)
  t.strictSame((await other.follow('/orders?$format=csv')).body, [{ $format: 'csv' }])
  const stored = await start(t, new MongoDBService({ Model: idleCollection }))
  t.match(await stored.follow('/orders?$format=csv', { accept: '*/*' }), {
    status: 400,
    body: { message: /\$format/ },
  })
})

t.test('leaves the object of a custom parser as it is', async (t) => {
  const query = Object.freeze({ $format: 'csv', $select: Object.freeze(['id']) })
  const orders = new Orders()
  const served = { query: () => query as never }
  const { follow } = await start(t, orders, 'orders', { served })
  for (let call = 0; call < 2; call += 1) {
    const { status, headers } = await follow('/orders?a=b')
    t.equal(status, 200)
    t.match(headers, { 'content-disposition': 'attachment; filename="orders.csv"' })
  }
  t.strictSame(orders.queries, [{ $select: ['id'] }, { $select: ['id'] }])
})

t.test('the name of the file is that of the service, never from the URL', async (t) => {
  const paths: [path: string, url: string, name: string][] = [
    ['teams/:team/orders', '/teams/%22;a=b/orders', 'orders'],
    ['reports/:year', '/reports/2024', 'reports'],
    [':tenant', '/a', 'records'],
    ['v1.orders~all', '/v1.orders~all', 'v1-orders-all'],
  ]
  for (const [path, url, name] of paths) {
    const { follow } = await start(t, new Orders(), path)
    const { headers } = await follow(`${url}?$format=ndjson`)
    t.match(headers, { 'content-disposition': `attachment; filename="${name}.ndjson"` }, path)
  }
})

t.test('a hook may name the file', async (t) => {
  const { app, follow } = await start(t, new Orders())
  app.service('orders').hooks({
    before: {
      find: (context: { http: { headers?: object } }) => {
        context.http.headers = { 'Content-Disposition': 'attachment; filename="2024.csv"' }
      },
    },
  } as never)
  const { headers } = await follow('/orders?$format=csv&$select[]=id')
  t.equal(headers['content-disposition'], 'attachment; filename="2024.csv"')
})

t.test('a link needs a login, and carries a token only if links may', async (t) => {
  for (const queryToken of [true, false]) {
    const served = { authentication: { queryToken } }
    let accounts: Accounts | undefined
    const server = await startOwnServer(t, served, (app) => {
      accounts = addAccounts(app)
      app.use('orders', new Orders() as object as AnyService)
      app.service('orders').hooks({ before: { find: [authenticate('jwt')] } })
    })
    await accounts?.addUser({ id: 1, email: CREDENTIALS.email })
    const token = await logIn(server)
    const link = '/orders?$format=csv&$select[]=id'
    t.equal((await server.request(link)).status, 401)
    const { status, headers } = await server.request(`${link}&access_token=${token}`)
    t.equal(status, queryToken ? 200 : 401)
    if (!queryToken) continue
    t.match(headers, {
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'content-disposition': 'attachment; filename="orders.csv"',
    })
  }
})

t.test('a query in a body names a format, too', async (t) => {
  const server = await start(t, new Orders(), 'orders', { served: { queryBodies: true } })
  const headers = { 'x-service-method': 'find' }
  const data = { $format: 'csv', $select: ['id'] }
  t.match(await server.request('/orders', { headers, data }), { status: 200, text: 'id\r\n1\r\n' })
})

t.test('OpenAPI describes the parameter where there are streams', async (t) => {
  const { app } = await start(t, new Orders())
  app.use('others', { find: async () => [] } as AnyService)
  const info = { title: 'Orders', version: '1' }
  const { paths } = await openapiDocument(app as unknown as Application, { info })
  const find = (path: string) =>
    (paths as Record<string, { get: { parameters: { name: string }[] } }>)[
      path
    ]?.get.parameters.filter(({ name }) => name === '$format')
  t.match(find('/orders'), [{ in: 'query', schema: { enum: ['ndjson', 'csv'] } }])
  t.strictSame(find('/others'), [])
})

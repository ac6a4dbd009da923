import type { IncomingHttpHeaders } from 'node:http'
import type { Document } from 'mongodb'
import type { MongoDBOptions } from '../../../src/adapter/index.ts'
import { createdBy, MongoDBService } from '../../../src/adapter/index.ts'
import { jobs } from '../../../src/adapter/jobs/index.ts'
import type { WebhooksOptions } from '../../../src/adapter/webhooks/index.ts'
import { webhooks } from '../../../src/adapter/webhooks/index.ts'
import type { AnyApplication, AroundHook, ServiceOptions } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import { startProvider } from '../../auth/oauth/provider/fake-provider.ts'
import type { TestDatabase } from '../../support/database.ts'
import type { TestScope } from '../../support/http.ts'

/** A date so late that every stored job is due. */
export const LATER = new Date('2100-01-01')

/** The caller is the user that the request names. */
const identify: AroundHook = async ({ params }, next) => {
  const user = params.headers?.['x-user']
  if (typeof user === 'string') Object.assign(params, { user: { _id: user } })
  await next()
}

export interface OrderOptions {
  readonly webhooks?: Partial<WebhooksOptions>
  readonly store?: Partial<MongoDBOptions>
  readonly service?: ServiceOptions
  /** Configured first. */
  readonly configure?: (app: AnyApplication) => unknown
}

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: bodies of several services
  readonly body: any
}

/** Starts a shop whose orders have webhooks, which are sent when a test runs the jobs. */
export async function startShop(
  t: TestScope,
  { db, empty }: TestDatabase,
  given: OrderOptions = {},
) {
  for (const name of ['jobs', 'webhooks', 'deliveries', 'orders']) await empty(name)
  const app = fastifyApp(createApp(), { logger: { level: 'silent' } })
  app.configure(rest())
  given.configure?.(app)
  app.configure(jobs({ collection: db.collection('jobs'), start: false }))
  app.configure(
    webhooks({
      ...{ endpoints: db.collection('webhooks'), deliveries: db.collection('deliveries') },
      events: { orders: ['created', 'patched', 'removed'] },
      ...{ around: [identify], allowPrivateNetwork: true, ...given.webhooks },
    }),
  )
  const Model = db.collection<Document>('orders')
  const orders = new MongoDBService({ Model, multi: true, ...given.store } as never)
  app.use('orders', orders, given.service)
  app.service('orders').hooks({ around: { all: [identify] }, before: { create: [createdBy()] } })
  await app.fastify.ready()
  t.teardown(() => app.close())
  const send = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
    user: string | null = 'ann',
  ): Promise<Answer> => {
    const headers = user === null ? {} : { 'x-user': user }
    const request = { method, url, headers, ...(payload && { payload }) }
    const { statusCode: status, body } = await app.fastify.inject(request)
    return { status, body: body === '' ? undefined : JSON.parse(body) }
  }
  const addEndpoint = async (url: string, user = 'ann', events = ['orders.created']) =>
    (await send('POST', '/webhooks', { url, events }, user)).body
  const listDeliveries = async (user = 'ann') =>
    (await send('GET', '/webhook-deliveries?$sort[_id]=1', undefined, user)).body.data
  return { app, db, orders: app.service('orders'), send, addEndpoint, listDeliveries }
}

/** A request that an endpoint got. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** The record that was sent. */
  // biome-ignore lint/suspicious/noExplicitAny: the record of a test
  readonly data: any
}

/** Starts the server of an endpoint, which answers with these statuses, one after the other; then with 204. */
export async function startReceiver(t: TestScope, ...statuses: number[]) {
  const received: Received[] = []
  const server = await startProvider(t, async (request, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    received.push({ headers: request.headers, body, data: JSON.parse(body).data })
    reply.writeHead(statuses.shift() ?? 204).end()
  })
  return { url: `${server.origin}/hook`, server, received }
}

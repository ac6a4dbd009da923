import t from 'tap'
import type { ServiceSchemas } from '../../../src/core/services/service-schemas.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import { createLogger } from '../../core/recording-logger.ts'
import type { TestScope } from '../../support/http.ts'

const string = { type: 'string' }
const toRecord = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, string])),
})
const stored = { id: 'a', name: 'b', hash: 'c', mine: true, none: undefined }

/** Serves records, and returns what sends a request for them and what was logged. */
async function serve(t: TestScope, schemas: ServiceSchemas, environment = 'development') {
  const former = process.env['NODE_ENV']
  process.env['NODE_ENV'] = environment
  t.teardown(() => {
    if (former === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = former
  })
  const logger = createLogger()
  const app = fastifyApp(createApp())
  app.logger = logger
  app.configure(rest())
  const service = {
    find: async () => ({ total: 2, limit: 2, skip: 0, data: [stored, { ...stored, late: 1 }] }),
    get: async (id: string) => (id === 'unlisted' ? { ...stored, [id]: 1 } : stored),
    tell: async () => ({ told: 'a', more: 2 }),
  }
  app.use('things', service, { methods: ['find', 'get', 'tell'], schemas })
  await app.fastify.ready()
  t.teardown(() => app.fastify.close())
  const texts = () => logger.entries.map(({ message }) => message)
  return { inject: app.fastify.inject.bind(app.fastify), entries: logger.entries, texts }
}

const toText = (field: string, method: string): string =>
  `The field '${field}' of results of '${method}' is not sent: no schema of service 'things' names it`

const methods = { tell: { data: true } }

t.test('tells once of each field that no schema names', async (t) => {
  const schemas = {
    entity: toRecord('id', 'name', 'hash'),
    result: toRecord('id', 'name'),
    methods,
  }
  const { inject, entries, texts } = await serve(t, { ...schemas, query: true })
  for (const path of ['/things/1', '/things/1', '/things']) await inject(path)
  t.strictSame(texts(), [toText('mine', 'get'), toText('mine', 'find'), toText('late', 'find')])
  t.match(entries[0], {
    level: 'warn',
    details: { service: 'things', method: 'get', field: 'mine' },
  })
  const { body } = await inject('/things/1')
  t.strictSame(JSON.parse(body), { id: 'a', name: 'b' })
})

t.test('tells of what the one schema there is does not name', async (t) => {
  const { inject, texts } = await serve(t, { entity: toRecord('id', 'name'), query: true, methods })
  await inject('/things/1')
  t.strictSame(texts(), [toText('hash', 'get'), toText('mine', 'get')])
})

t.test('tells of results of custom methods by their own schema', async (t) => {
  const told = { tell: { data: true, result: toRecord('told') } }
  const { inject, texts } = await serve(t, { entity: true, query: true, methods: told })
  const headers = { 'x-service-method': 'tell' }
  await inject({ url: '/things', method: 'POST', headers, payload: {} })
  t.strictSame(texts(), [toText('more', 'tell')])
})

t.test('is silent where all fields are sent, and in production', async (t) => {
  const open = { ...toRecord('id'), additionalProperties: true }
  for (const [entity, environment] of [
    [open, 'development'],
    [true, 'development'],
    [toRecord('id'), 'production'],
  ] as const) {
    const { inject, texts } = await serve(t, { entity, query: true, methods }, environment)
    await inject('/things/1')
    t.strictSame(texts(), [])
  }
})

t.test('ends after twenty, as records may have any names', async (t) => {
  const names = Array.from({ length: 50 }, (_, index) => `name-${index}`)
  const app = fastifyApp(createApp())
  const logger = createLogger()
  app.logger = logger
  app.configure(rest())
  const service = { get: async (id: string) => ({ [id]: 1 }) }
  app.use('things', service, { schemas: { entity: toRecord('id'), query: true } })
  await app.fastify.ready()
  t.teardown(() => app.fastify.close())
  for (const name of names) await app.fastify.inject(`/things/${name}`)
  t.equal(logger.entries.length, 20)
})

t.test('tells once of what a page has beside its own fields', async (t) => {
  const app = fastifyApp(createApp())
  const logger = createLogger()
  app.logger = logger
  app.configure(rest())
  const service = { find: async () => ({ total: 0, limit: 5, skip: 0, id: 'a', data: [] }) }
  app.use('things', service, { schemas: { entity: toRecord('id'), query: true } })
  await app.fastify.ready()
  t.teardown(() => app.fastify.close())
  for (const _ of [1, 2]) await app.fastify.inject('/things')
  t.strictSame(
    logger.entries.map(({ message }) => message),
    [toText('id', 'find')],
  )
})

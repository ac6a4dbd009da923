import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Type } from '../../src/core/schema/index.ts'
import type { OpenApiDocument } from '../../src/transport/index.ts'
import { openapi } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import { addCountries } from '../support/described-countries.ts'
import { createCheck } from '../support/document-check.ts'
import type { RequestOptions } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

const database = await openDatabase(t)

const EXAMPLE = fileURLToPath(new URL('../../examples/countries.js', import.meta.url))

const Point = Type.Object({ x: Type.Number(), y: Type.Number() })

/** A record of one of two kinds, with objects inside. */
const Shape = Type.Object({
  id: Type.Integer(),
  kind: Type.Union([Type.Literal('line'), Type.Literal('circle')]),
  corners: Type.Array(Point, { uniqueItems: true }),
  style: Type.Union([
    Type.Object({ dash: Type.Number(), color: Type.String() }),
    Type.Object({ fill: Type.String(), color: Type.String() }),
  ]),
})

/** Answers as a service does that is asked for some fields: `corners.x`, `style.color`. */
const shapes = {
  options: { paginate: false },
  find: async () => [
    { id: 1, kind: 'line' },
    { id: 2, corners: [{ x: 1 }, { x: 1 }], style: { color: 'red' } },
    { id: 3 },
  ],
}

const User = Type.Object({ id: Type.Integer(), name: Type.String() })

const USER_SCHEMAS = { entity: User, update: Type.Omit(User, ['id']) }

const user = {
  find: async () => ({ id: 7, name: 'Eve' }),
  update: async (_id: null, data: object) => ({ id: 7, ...data }),
  remove: async () => ({ id: 7, name: 'Eve' }),
}

const SCALE = { 'x-service-method': 'scale' }

for (const mode of MODES) {
  t.test(`${mode}: every operation answers as the document says`, async (t) => {
    const collection = await database.empty('countries')
    const server = await startServer(t, mode, {
      services: (app) => {
        addCountries(app, collection)
        app.configure(openapi({ info: { title: 'Countries', version: '1.0.0' } }))
      },
    })
    const check = createCheck(t, (await server.request('/docs/json')).body as OpenApiDocument)
    const countries = `${server.prefix}/countries`
    const call = async (
      status: number,
      place: string,
      path: string,
      options: RequestOptions & { readonly method: string },
    ): Promise<unknown> => {
      const answer = await server.request(`/countries${path}`, options)
      t.equal(answer.status, status, `${options.method} ${path}`)
      check(place, options.method.toLowerCase(), answer)
      return answer.body
    }
    const data = { name: 'France', area: 551695 }
    const { _id } = (await call(201, countries, '', { method: 'POST', data })) as { _id: string }
    const one = `${countries}/{id}`
    await call(201, countries, '', { method: 'POST', data: [data, { ...data, since: 1862 }] })
    await call(200, countries, '?area[$gt]=1000', { method: 'GET' })
    await call(400, countries, '?area=wide', { method: 'GET' })
    await call(400, countries, '', { method: 'POST', data: { ...data, more: true } })
    await call(200, countries, '?$select[]=name', { method: 'GET' })
    await call(201, countries, '?$select[]=area', { method: 'POST', data })
    await call(200, one, `/${_id}`, { method: 'GET' })
    await call(200, one, `/${_id}?$select[]=name`, { method: 'GET' })
    await call(200, one, `/${_id}?$select[]=since`, { method: 'PATCH', data: { area: 1 } })
    await call(404, one, '/000000000000000000000000', { method: 'GET' })
    await call(200, one, `/${_id}`, { method: 'PATCH', data: { area: 1 } })
    await call(400, one, `/${_id}`, { method: 'PATCH', data: { area: 'wide' } })
    const scaling = { method: 'POST', headers: SCALE }
    await call(200, `${countries}#scale`, '', { ...scaling, data: { factor: 2 } })
    await call(400, `${countries}#scale`, '', { ...scaling, data: {} })
    await call(200, one, `/${_id}`, { method: 'DELETE' })
    await call(200, countries, '?name=France', { method: 'DELETE' })
    await call(400, countries, '', { method: 'DELETE' })
  })

  t.test(`${mode}: what $select leaves of a record is what the document says`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => {
        app.use('shapes', shapes, { methods: ['find'], schemas: { entity: Shape, query: true } })
        app.configure(openapi({ info: { title: 'Shapes', version: '1.0.0' } }))
      },
    })
    const document = (await server.request('/docs/json')).body as OpenApiDocument
    const check = createCheck(t, document)
    check(`${server.prefix}/shapes`, 'get', await server.request('/shapes'))
    const shape = document.components['schemas']?.['Shapes'] as typeof Shape
    t.strictSame([...shape.required], ['id'])
  })

  t.test(`${mode}: a service that is one record is documented without an id`, async (t) => {
    const server = await startServer(t, mode, {
      services: (app) => {
        app.use('user', user, { singleton: true, schemas: USER_SCHEMAS })
        app.configure(openapi({ info: { title: 'User', version: '1.0.0' } }))
      },
    })
    const document = (await server.request('/docs/json')).body as OpenApiDocument
    const place = `${server.prefix}/user`
    t.strictSame(
      Object.keys(document.paths).filter((path) => path.startsWith(place)),
      [place],
    )
    const check = createCheck(t, document)
    for (const [method, data] of [['GET'], ['PUT', { name: 'Ann' }], ['DELETE']] as const) {
      const answer = await server.request('/user', { method, ...(data && { data }) })
      t.equal(answer.status, 200)
      check(place, method.toLowerCase(), answer)
    }
    const { headers } = await server.request('/user', { method: 'OPTIONS' })
    t.equal(headers.allow, 'GET, HEAD, PUT, DELETE, OPTIONS')
    t.strictSame(Object.keys(document.paths[place] ?? {}), ['get', 'put', 'delete'])
  })
}

t.test('Allow has the verbs that the document has', async (t) => {
  const collection = await database.empty('countries')
  const server = await startServer(t, 'standalone', {
    services: (app) => {
      addCountries(app, collection)
      app.configure(openapi({ info: { title: 'Countries', version: '1.0.0' } }))
    },
  })
  const { paths } = (await server.request('/docs/json')).body as OpenApiDocument
  const countries = await server.request('/countries', { method: 'OPTIONS' })
  const verbs = String(countries.headers.allow).toLowerCase().split(', ')
  const documented = Object.keys(paths['/countries'] ?? {})
  t.strictSame(new Set(verbs), new Set([...documented, 'head', 'options']))
})

t.test('the countries of the example are as its document says', async (t) => {
  const { MONGODB_URL: _url, ...env } = process.env
  const child = spawn(process.execPath, [EXAMPLE], { env: { ...env, PORT: '0' } })
  t.teardown(() => child.kill('SIGINT'))
  let output = ''
  for await (const text of child.stdout) {
    output += text
    if (output.includes('Ctrl-C')) break
  }
  const [url = ''] = /http:\/\/[\d.]+:\d+/.exec(output) ?? []
  const load = async (path: string) => (await fetch(`${url}${path}`)).json()
  const document = (await load('/docs/json')) as OpenApiDocument
  const { data } = (await load('/countries?$limit=250')) as { data: unknown[] }
  t.equal(data.length, 250)
  const check = createCheck(t, document)
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  for (const body of data) check('/countries/{id}', 'get', { status: 200, body, headers })
})

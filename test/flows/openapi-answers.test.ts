import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import type { OpenApiDocument } from '../../src/transport/index.ts'
import { openapi } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import { addCountries } from '../support/described-countries.ts'
import type { Answer, RequestOptions } from '../support/http.ts'
import { MODES, startServer } from '../support/http.ts'

const database = await openDatabase(t)

type Responses = Readonly<Record<string, { readonly $ref?: string }>>

/** The part of a tap test that is needed here. */
interface Assertions {
  match(found: unknown, wanted: object): unknown
  ok(value: unknown, message: string): unknown
}

/** Asserts that an answer is one of those that the document has for an operation. */
type Check = (place: string, verb: string, answer: Answer) => void

function createCheck(t: Assertions, document: OpenApiDocument): Check {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'document')
  return (place, verb, { status, body, headers }) => {
    const operation = document.paths[place]?.[verb] as { readonly responses: Responses } | undefined
    const responses = operation?.responses ?? {}
    const code = Object.hasOwn(responses, status) ? String(status) : 'default'
    const path = encodeURIComponent(place.replaceAll('/', '~1'))
    const own = responses[code]?.$ref ?? `#/paths/${path}/${verb}/responses/${code}`
    t.match(headers, { 'content-type': 'application/json; charset=utf-8' })
    const check = ajv.getSchema(`document${own}/content/application~1json/schema`)
    t.ok(check?.(body), `${status} of ${verb} ${place}: ${ajv.errorsText(check?.errors)}`)
  }
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
    await call(200, one, `/${_id}`, { method: 'GET' })
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
}

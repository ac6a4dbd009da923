// Serves the 250 countries of the world from MongoDB: try the lines it prints.
// `npx tsx node_modules/remex/examples/countries.ts`, after `npm install mongodb world-countries
// @fastify/swagger @fastify/swagger-ui yaml`. Reads PORT (3030), HOST (127.0.0.1) and MONGODB_URL. By default, an embedded database
// keeps its data in DATA_DIRECTORY (`.data`, in the current directory).
import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import { MongoClient } from 'mongodb'
import { createApp, fastifyApp, openapi, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { MongoDBService } from 'remex/mongodb'
import { realtime } from 'remex/realtime'
import type { Static } from 'remex/schema'
import { querySyntax, Type } from 'remex/schema'
import type { Country as WorldCountry } from 'world-countries'
import { INDEX_HEADERS, PAGE_HEADERS, renderAnswerPage, renderIndexPage } from './countries-page.ts'

const Country = Type.Object({
  _id: Type.String({ pattern: '^[A-Z]{3}$', description: 'The three letters of ISO 3166' }),
  name: Type.String({ minLength: 1 }),
  official: Type.String(),
  capital: Type.Array(Type.String()),
  region: Type.String(),
  subregion: Type.String(),
  languages: Type.Array(Type.String()),
  borders: Type.Array(Type.String()),
  area: Type.Optional(Type.Number({ minimum: 0, description: 'In square kilometres' })),
  landlocked: Type.Boolean(),
  flag: Type.String(),
})
type Country = Static<typeof Country>

/** The id of a country never changes. */
const CountryData = Type.Omit(Country, ['_id'])

type Services = { countries: MongoDBService<Country> }

const worldCountries: WorldCountry[] = createRequire(import.meta.url)('world-countries')
const countries: Country[] = worldCountries.map((country) => ({
  _id: country.cca3,
  name: country.name.common,
  official: country.name.official,
  capital: country.capital,
  region: country.region,
  subregion: country.subregion,
  languages: Object.values(country.languages),
  borders: country.borders,
  // The list has -1 for an unknown area.
  ...(country.area >= 0 ? { area: country.area } : {}),
  landlocked: country.landlocked,
  flag: country.flag,
}))

const { PORT = '3030', HOST = '127.0.0.1', DATA_DIRECTORY = '.data', MONGODB_URL } = process.env
const embedded =
  MONGODB_URL === undefined ? await startEmbeddedMongo({ directory: DATA_DIRECTORY }) : undefined
const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
const collection = mongo.db('remex_countries').collection<Country>('countries')
if ((await collection.estimatedDocumentCount()) === 0) await collection.insertMany(countries)

const app = fastifyApp(createApp<Services>())
app.configure(rest())
app.configure(realtime())
app.use(
  'countries',
  new MongoDBService<Country>({
    Model: collection,
    paginate: { default: 10, max: 250 },
    // The letters of a country are its id, so callers choose it.
    allowClientId: true,
  }),
  {
    schemas: {
      entity: Country,
      create: Country,
      update: CountryData,
      patch: Type.Partial(CountryData),
      // In URLs, too: ?name[$regex]=^Fr
      query: querySyntax(Country, { name: { $regex: Type.String(), $options: Type.String() } }),
    },
  },
)
app.configure(openapi({ info: { title: 'Countries', version: '1.0.0' }, path: '/docs' }))
app.fastify.get('/', ({ protocol, host }, reply) =>
  reply.headers(INDEX_HEADERS).send(renderIndexPage(`${protocol}://${host}`)),
)

// Programs get JSON; a browser that opens a link gets a page. It is made after the service: a formatter
// before it would turn streams off.
app.fastify.addHook('onSend', async (request, reply, payload) => {
  if (!request.url.startsWith('/countries') || typeof payload !== 'string') return payload
  reply.header('vary', 'accept')
  const isJson = String(reply.getHeader('content-type')).startsWith('application/json')
  if (!isJson || request.headers.accept?.includes('text/html') !== true) return payload
  reply.headers(PAGE_HEADERS)
  return renderAnswerPage(request.url, JSON.parse(payload))
})

await app.listen({ port: Number(PORT), host: HOST })
const address = app.server.address()
const place =
  embedded === undefined
    ? 'the database of MONGODB_URL'
    : `${resolve(DATA_DIRECTORY)}, which you may remove`
const port = typeof address === 'object' ? address?.port : PORT
const url = `http://${HOST}:${port}`
console.log(`${countries.length} countries at ${url}/countries, and a page to start from at ${url}/
The API, with a form for each call, at ${url}/docs

  curl '${url}/countries/FRA'
  curl -g '${url}/countries?region=Europe&$sort[area]=-1&$limit=3&$select[]=name'
  curl -g '${url}/countries?area[$gt]=1000000&landlocked=true&$select[]=name'
  curl -g -X PATCH '${url}/countries/FRA' -H 'content-type: application/json' -d '{"capital":["Lyon"]}'
  curl -gN '${url}/countries?subregion=Western%20Europe&$select[]=capital' -H 'accept: text/event-stream'

What you write is kept in ${place}. Ctrl-C ends it.`)

async function stop(): Promise<void> {
  await app.close()
  await mongo.close()
  await embedded?.close()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())

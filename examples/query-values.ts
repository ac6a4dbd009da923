// Queries products by price, date and maker id from URLs, which only contain strings.
// Try the lines it prints. `npx tsx node_modules/remex/examples/query-values.ts`. Reads
// PORT (3030), HOST (127.0.0.1) and MONGODB_URL (an embedded database by default).
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { MongoClient, ObjectId } from 'mongodb'
import type { Application, Hook, Query } from 'remex'
import { BadRequest, createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { MongoDBService, resolveObjectId } from 'remex/mongodb'

interface Product {
  _id: ObjectId
  name: string
  price: number
  sold: boolean
  makerId: ObjectId
  addedAt: Date
}

export type Services = { products: MongoDBListService<Product> }

/** Returns the value that a string in a URL stands for. */
type Converter = (text: string) => unknown

/** Their values are not those of the field. */
const OTHER_OPERATORS = new Set(['$exists', '$type', '$size', '$mod', '$regex', '$options'])

/** Returns a hook that converts what the fields of a query are compared with. */
export function convertQuery(converters: Readonly<Record<string, Converter>>): Hook {
  const convertValue = (value: unknown, convert: Converter): unknown =>
    typeof value === 'string'
      ? convert(value)
      : mapParts(value, (part, name) =>
          OTHER_OPERATORS.has(name) ? part : convertValue(part, convert),
        )
  const convertConditions = (query: Query): unknown =>
    mapParts(query, (value, name) => {
      if (name === '$or' || name === '$and' || name === '$nor') {
        return mapParts(value, (part) => convertConditions(part as Query))
      }
      const convert = Object.hasOwn(converters, name) ? converters[name] : undefined
      return convert === undefined ? value : convertValue(value, convert)
    })
  return (context) => {
    context.params.query = convertConditions(context.params.query ?? {}) as Query
  }
}

/** Maps the items of a list or the properties of an object; dates, ids and the like stay as they are. */
function mapParts(value: unknown, map: (part: unknown, name: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((part) => map(part, ''))
  if (typeof value !== 'object' || value === null || value.constructor !== Object) return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, map(part, name)]))
}

export function toNumber(text: string): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isFinite(number)) return number
  throw new BadRequest(`'${text}' is no number`)
}

function toBoolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true'
  throw new BadRequest(`'${text}' is neither true nor false`)
}

export function toDate(text: string): Date {
  // By itself, Date reads '5' and 'May 7' as well, and the 30th of February as a day in March.
  const [day] = /^\d{4}-\d{2}-\d{2}(?=T\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:\d{2})$|$)/.exec(text) ?? []
  const isDay = day !== undefined && new Date(`${day}Z`).toJSON()?.startsWith(day) === true
  const date = new Date(text)
  if (isDay && !Number.isNaN(date.getTime())) return date
  throw new BadRequest(`'${text}' is no date`)
}

/** Registers the service `products`. */
export function addProducts(app: Application<Services>, db: Db): void {
  app.use('products', new MongoDBService({ Model: db.collection<Product>('products') }))
  app.service('products').hooks({
    before: {
      all: [
        convertQuery({
          price: toNumber,
          sold: toBoolean,
          makerId: resolveObjectId,
          addedAt: toDate,
        }),
      ],
    },
  })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
  const app = fastifyApp(createApp<Services>())
  app.configure(rest())
  addProducts(app, mongo.db('remex_products'))
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}/products`
  const makerId = new ObjectId()
  const addedAt = new Date('2026-01-31T12:00:00Z')
  await app.service('products').create({ name: 'Lamp', price: 5, sold: false, makerId, addedAt })
  console.log(`Products at ${url}

  curl '${url}?price=5'
  curl -g '${url}?price[$gt]=4.5&sold=false&addedAt[$gte]=2026-01-01'
  curl '${url}?makerId=${makerId.toHexString()}'
  curl '${url}?price=cheap'

Ctrl-C ends it.`)

  async function stop(): Promise<void> {
    await app.close()
    await mongo.close()
    await embedded?.close()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

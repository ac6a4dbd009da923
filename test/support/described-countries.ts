import type { MethodSchemas } from '../../src/core/service-schemas.ts'
import type { Application } from '../../src/transport/index.ts'
import { NotFound } from '../../src/transport/index.ts'

/** A record of {@link CountryService}. */
export interface Country {
  readonly id: string
  readonly name: string
  readonly area: number
}

/** A field of a query as schemas have it: a value, or operators. */
function toCondition(type: string): object {
  const value = { type }
  const operators = Object.fromEntries(
    ['$gt', '$gte', '$lt', '$lte', '$ne'].map((name) => [name, value]),
  )
  const lists = Object.fromEntries(
    ['$in', '$nin'].map((name) => [name, { type: 'array', items: value }]),
  )
  return {
    anyOf: [
      value,
      { type: 'object', properties: { ...operators, ...lists }, additionalProperties: false },
    ],
  }
}

const FIELDS = { id: { type: 'string' }, name: { type: 'string' }, area: { type: 'number' } }

const NAMES = Object.keys(FIELDS)

const CONDITIONS = {
  id: toCondition('string'),
  name: toCondition('string'),
  area: toCondition('number'),
}

const QUERY = {
  type: 'object',
  properties: {
    $limit: { type: 'integer', minimum: 0 },
    $skip: { type: 'integer', minimum: 0 },
    $sort: {
      type: 'object',
      properties: Object.fromEntries(
        NAMES.map((name) => [name, { type: 'integer', enum: [1, -1] }]),
      ),
      additionalProperties: false,
    },
    $select: { type: 'array', items: { type: 'string', enum: NAMES } },
    $or: {
      type: 'array',
      items: { type: 'object', properties: CONDITIONS, additionalProperties: false },
    },
    ...CONDITIONS,
  },
  additionalProperties: false,
}

const COUNTRY = {
  $id: 'Country',
  type: 'object',
  required: ['id', 'name', 'area'],
  properties: FIELDS,
  additionalProperties: false,
}

const NEW_COUNTRY = { ...COUNTRY, $id: 'NewCountry', required: ['name', 'area'] }

const CHANGES = { ...COUNTRY, $id: 'CountryChanges', required: [] }

const SCALING = {
  type: 'object',
  required: ['factor'],
  properties: { factor: { type: 'number' } },
  additionalProperties: false,
}

const SCALED = { type: 'object', required: ['scaled'], properties: { scaled: { type: 'integer' } } }

/** The schemas of {@link CountryService}, by its methods. */
export const COUNTRY_SCHEMAS: Readonly<Record<string, MethodSchemas>> = {
  find: { data: undefined, query: QUERY, result: COUNTRY },
  get: { data: undefined, query: QUERY, result: COUNTRY },
  create: { data: NEW_COUNTRY, query: QUERY, result: COUNTRY },
  patch: { data: CHANGES, query: QUERY, result: COUNTRY },
  remove: { data: undefined, query: QUERY, result: COUNTRY },
  scale: { data: SCALING, query: QUERY, result: SCALED },
}

/** A service of records in memory, which answers by pages and keeps the queries that it gets. */
export class CountryService {
  readonly options = { paginate: { default: 10 }, multi: ['create', 'remove'] }
  readonly queries: unknown[] = []
  readonly #countries = new Map<string, Country>()

  async find({ query }: { query?: unknown }): Promise<object> {
    this.queries.push(query)
    const data = [...this.#countries.values()]
    return { total: data.length, limit: 10, skip: 0, data }
  }

  async get(id: string): Promise<Country> {
    const country = this.#countries.get(id)
    if (country === undefined) throw new NotFound(`No record found for id '${id}'`)
    return country
  }

  async create(data: Omit<Country, 'id'> | Omit<Country, 'id'>[]): Promise<Country | Country[]> {
    if (Array.isArray(data)) return Promise.all(data.map(async (one) => this.#add(one)))
    return this.#add(data)
  }

  async patch(id: string, data: Partial<Country>): Promise<Country> {
    const country = { ...(await this.get(id)), ...data }
    this.#countries.set(id, country)
    return country
  }

  async remove(id: string | null): Promise<Country | Country[]> {
    const removed = id === null ? [...this.#countries.values()] : [await this.get(id)]
    for (const country of removed) this.#countries.delete(country.id)
    return id === null ? removed : (removed[0] as Country)
  }

  async scale({ factor }: { factor: number }): Promise<object> {
    return { scaled: this.#countries.size * factor }
  }

  #add(data: Omit<Country, 'id'>): Country {
    const country = { ...data, id: `c${this.#countries.size + 1}` }
    this.#countries.set(country.id, country)
    return country
  }
}

/** Registers a {@link CountryService} at `countries`, with schemas. */
export function addCountries(app: Application): CountryService {
  const service = new CountryService()
  app.use('countries', service, { methods: Object.keys(COUNTRY_SCHEMAS) })
  const schemas = {
    load: async () => undefined,
    toMethodSchemas: (method: string) => COUNTRY_SCHEMAS[method],
  }
  Object.assign(app.entries.get('countries') ?? {}, { schemas })
  return service
}

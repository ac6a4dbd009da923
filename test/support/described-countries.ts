import type { Collection } from 'mongodb'
import { MongoDBService, ObjectIdSchema } from '../../src/adapter/index.ts'
import { querySyntax, Type } from '../../src/core/schema/index.ts'
import type { Application } from '../../src/transport/index.ts'

const Country = Type.Object(
  {
    _id: ObjectIdSchema(),
    name: Type.String(),
    area: Type.Number(),
    since: Type.Optional(Type.Integer()),
  },
  { $id: 'Country' },
)

const NewCountry = Type.Omit(Country, ['_id'], { $id: 'NewCountry' })

/** A service with pages, some methods for many records, and one of its own. */
class CountryService extends MongoDBService {
  async scale({ factor }: { factor: number }): Promise<object> {
    const { total } = (await this._find({ query: { $limit: 0 } })) as { readonly total: number }
    return { scaled: total * factor }
  }
}

const METHODS = ['find', 'get', 'create', 'patch', 'remove', 'scale']

/** Registers a service at `countries` that is described by its schemas alone. */
export function addCountries(app: Application, collection: Collection): void {
  const service = new CountryService({
    Model: collection,
    paginate: { default: 10, max: 50 },
    multi: ['create', 'remove'],
  })
  app.use('countries', service, {
    methods: METHODS,
    schemas: {
      entity: Country,
      create: NewCountry,
      patch: Type.Partial(NewCountry, { $id: 'CountryChanges' }),
      query: querySyntax(Country),
      methods: {
        scale: {
          data: Type.Object({ factor: Type.Number() }),
          result: Type.Object({ scaled: Type.Number() }),
        },
      },
    },
  })
}

// Hooks of every kind, on a service that stores people in memory.
// `npx tsx node_modules/remex/examples/hooks.ts`.
import type { AroundHook, Hook, Id, Params } from 'remex/core'
import { BadRequest, createApp, NotFound } from 'remex/core'

interface Person {
  id: number
  name: string
  password: string
}

interface PersonData {
  name: string
  password: string
}

class PeopleService {
  readonly #people = new Map<number, Person>()

  async get(id: Id, _params?: Params): Promise<Person> {
    const person = this.#people.get(Number(id))
    if (person === undefined) throw new NotFound(`No person has the id '${id}'`)
    return person
  }

  async create(data: PersonData, _params?: Params): Promise<Person> {
    const person = { id: this.#people.size + 1, ...data }
    this.#people.set(person.id, person)
    return person
  }
}

const app = createApp<{ people: PeopleService }>().use('people', new PeopleService())
const people = app.service('people')

people.hooks({
  before: {
    create: [
      (context) => {
        const { name } = context.data
        if (name === '') throw new BadRequest('A person needs a name')
        context.data = { ...context.data, name: name.trim() }
      },
    ],
  },
  after: {
    all: (context) => {
      // HTTP clients get this. Internal calls get `result`, with the password.
      context.dispatch = { ...(context.result as Person), password: undefined }
    },
  },
  error: {
    get: (context) => console.log('not found:', context.id),
  },
})

const measure: AroundHook = async (context, next) => {
  const start = performance.now()
  await next()
  const ms = performance.now() - start
  const name = `${context.path}.${context.method}`
  console.log(name, ms < 1000 ? 'was quick' : 'took long')
}
app.hooks([measure])

const cache = new Map<Id, Person>()
people.hooks({
  around: {
    get: async (context, next) => {
      const cached = cache.get(context.id)
      if (cached !== undefined) context.result = cached // skips the method
      await next()
      if (context.result) cache.set(context.id, context.result)
    },
  },
})

const notFoundIsNull: Hook = (context) => {
  if (context.error instanceof NotFound && context.params.provider === undefined) {
    context.result = null // the call resolves to null
  }
}
people.hooks({ error: { get: notFoundIsNull } })

const checkId: Hook<PeopleService, 'get'> = (context) => {
  if (!/^\d+$/.test(String(context.id))) throw new BadRequest('An id is a number')
}
const checkSponsor: Hook<{ get(id: Id): Promise<unknown> }> = async (context) => {
  const sponsor = context.params.query?.['sponsor']
  if (sponsor !== undefined) await context.service.get(Number(sponsor))
}
people.hooks({ before: { get: checkId, create: checkSponsor } })

app.hooks({
  setup: async (context, next) => {
    console.log('services:', [...context.app.entries.keys()].join()) // services: people
    await next()
  },
})
await app.setup()

console.log(await people.create({ name: ' Ann ', password: 'secret' }))
console.log(await people.create({ name: '', password: '' }).catch((error: Error) => error.message))
const ann = await people.get(1)
console.log(ann === (await people.get(1))) // true, from the cache
console.log(await people.get(99)) // null

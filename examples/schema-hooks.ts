// Schemas in hooks, which check every call, including internal ones. Ends by itself.
// `npx tsx node_modules/remex/examples/schema-hooks.ts`, after `npm install zod`.
import type { Id, Params } from 'remex/core'
import { BadRequest, createApp } from 'remex/core'
import type { Static } from 'remex/schema'
import {
  Ajv,
  addFormats,
  DateSchema,
  getDataValidator,
  getValidator,
  querySyntax,
  Type,
  validateData,
  validateQuery,
} from 'remex/schema'
import { z } from 'zod'

const Event = Type.Object(
  {
    id: Type.Integer(),
    title: Type.String({ minLength: 1 }),
    seats: Type.Integer({ minimum: 1, default: 20 }),
    startsAt: DateSchema(),
  },
  { $id: 'Event', additionalProperties: false },
)
type Event = Static<typeof Event>

const EventData = Type.Omit(Event, ['id'], { $id: 'EventData', additionalProperties: false })
type EventData = Static<typeof EventData>

/** Stores events in memory. */
class EventService {
  readonly #events: Event[] = []

  async find({ query = {} }: Params = {}): Promise<Event[]> {
    return this.#events.filter(
      ({ seats }) => query['seats'] === undefined || seats === query['seats'],
    )
  }

  async create(data: EventData, _params?: Params): Promise<Event> {
    const event = { ...data, id: this.#events.length + 1 }
    this.#events.push(event)
    return event
  }

  async patch(id: Id, data: Partial<EventData>, _params?: Params): Promise<Event> {
    return Object.assign(this.#events[Number(id) - 1] ?? {}, data) as Event
  }

  async invite(data: { email: string }, _params?: Params): Promise<string> {
    return `Invited ${data.email}`
  }
}

const app = createApp<{ events: EventService }>().use('events', new EventService(), {
  methods: ['find', 'create', 'patch', 'invite'],
})

const Invitation = z.strictObject({ email: z.email().toLowerCase() })

app.service('events').hooks({
  before: {
    all: [
      // For internal calls too.
      validateQuery(querySyntax(Event)),
      validateData(getDataValidator(EventData)),
    ],
    invite: [validateData(Invitation)],
  },
})

// A custom Ajv, with its options, formats and keywords.
const ajv = new Ajv({ allErrors: true })
addFormats(ajv, ['email'])
const checkAddress = getValidator(
  Type.Object({ email: Type.String({ format: 'email' }), name: Type.String() }),
  ajv,
)

/** Checks what a schema cannot express. Returns the data, or throws. */
const startsLater = (data: Partial<EventData>): Partial<EventData> => {
  if (data.startsAt === undefined || data.startsAt > new Date()) return data
  throw new BadRequest('An event must start in the future', {
    errors: { startsAt: 'is in the past' },
  })
}
app.service('events').hooks({
  before: { create: [validateData(startsLater)], patch: [validateData(startsLater)] },
})

// A Date, or what external callers send.
const startsAt = new Date(Date.now() + 86_400_000)
const events = app.service('events')
console.log(await events.create({ title: 'Concert', seats: 50, startsAt }))
const fromOutside = { title: 'Reading', startsAt: startsAt.toJSON() } as unknown as EventData
console.log(await events.create(fromOutside)) // with a Date, and 20 seats
console.log(await events.find({ query: { seats: '50' } })) // of one
console.log(await events.invite({ email: 'ADA@example.org' })) // Invited ada@example.org

for (const call of [
  () => events.create({ title: '', seats: 1, startsAt }),
  () => events.create({ title: 'Concert', seats: 1, startsAt: new Date(0) }),
  () => events.find({ query: { nope: 1 } }),
  () => events.invite({ email: 'Ada' }),
  () => checkAddress({ email: 'Ada' }),
]) {
  await call().catch((error: BadRequest) => console.log(error.message, error.errors ?? error.data))
}

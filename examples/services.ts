// Services with their options, events, errors and life cycle, in one process.
// `npx tsx node_modules/remex/examples/services.ts`.
import { EventEmitter } from 'node:events'
import type { Application, Id, Params } from 'remex/core'
import { BadRequest, convert, createApp, errorFromJSON, NotFound, ServiceError } from 'remex/core'

interface Message {
  id: number
  text: string
}

class MessageService {
  readonly #messages = new Map<number, Message>()

  async find(_params?: Params): Promise<Message[]> {
    return [...this.#messages.values()]
  }

  async get(id: Id, _params?: Params): Promise<Message> {
    const message = this.#messages.get(Number(id))
    if (!message) throw new NotFound(`No message has the id '${id}'`)
    return message
  }

  async create(data: { text: string }, _params?: Params): Promise<Message> {
    const message = { id: this.#messages.size + 1, text: data.text }
    this.#messages.set(message.id, message)
    return message
  }

  async shout(data: { id: Id }, params?: Params): Promise<string> {
    return (await this.get(data.id, params)).text.toUpperCase()
  }
}

const clock = {
  async get(id: 'now' | 'epoch') {
    return { id, time: id === 'now' ? new Date() : new Date(0) }
  },
}

interface Services {
  messages: MessageService
  clock: typeof clock
  jobs: JobService
}

const app = createApp<Services>()
app.use('messages', new MessageService(), {
  methods: ['find', 'get', 'create', 'shout'],
})
app.use('clock', clock)

const messages = app.service('messages')
await messages.create({ text: 'Hello' })
console.log(await messages.get(1)) // { id: 1, text: 'Hello' }
console.log(await messages.shout({ id: 1 })) // HELLO
console.log((await app.service('clock').get('epoch')).time.getTime()) // 0

messages.on('created', (message, context) => {
  console.log(`${context.path}: ${message.text}`) // messages: Bye
})
await messages.create({ text: 'Bye' })

class JobService extends EventEmitter {
  readonly events = ['done']
  #timer: NodeJS.Timeout | undefined

  async setup(_app: Application, path: string): Promise<void> {
    this.#timer = setInterval(() => this.emit('done', path), 60_000)
  }

  async teardown(): Promise<void> {
    clearInterval(this.#timer)
  }
}

app.use('jobs', new JobService())
await app.setup()
await app.teardown()

const site = createApp().use('api/v1', app)
console.log([...site.entries.keys()]) // [ 'api/v1/messages', 'api/v1/clock', 'api/v1/jobs' ]
await app.unuse('clock')

interface Settings {
  port: number
  host?: string
}

const configured = createApp<Services, Settings>()
configured.set('port', 3030)
configured.configure((given) => console.log(given.get('port'))) // 3030

try {
  await messages.get(99)
} catch (error) {
  console.log(error instanceof NotFound, JSON.stringify(error))
  // true {"name":"NotFound","message":"No message has the id '99'","code":404,"className":"not-found"}
}

const invalid = new BadRequest('The message is not valid', {
  errors: { text: 'is too long' },
  maximum: 280,
})
console.log(invalid.toJSON())
// { name: 'BadRequest', message: 'The message is not valid', code: 400,
//   className: 'bad-request', data: { maximum: 280 },
//   errors: { text: 'is too long' } }

class Teapot extends ServiceError {
  static override readonly code: number = 418
  static override readonly className: string = 'teapot'
}
console.log(new Teapot('Short and stout').code) // 418

const body = { name: 'NotFound', message: 'Gone fishing', code: 404 }
const received = errorFromJSON(body)
console.log(received instanceof NotFound, received.message) // true Gone fishing
console.log(convert({ name: 'Elsewhere', message: 'odd' }) instanceof Error) // true

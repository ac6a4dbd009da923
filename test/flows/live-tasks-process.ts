// The services of examples/live-tasks.ts in a process of their own, for tests that end processes, with a
// service that writes several tasks in one transaction. Prints its port when it is ready. The argument
// is JSON: `{ url, name, secret, recheckMs, paginate }`, where the name is that of the database.
import type { AddressInfo } from 'node:net'
import { MongoClient } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import { LocalStrategy } from 'remex/auth'
import { mongoEvents, transaction } from 'remex/mongodb'
import { realtime } from 'remex/realtime'
import type { TaskApp } from '../../examples/live-tasks.ts'
import { addServices } from '../../examples/live-tasks.ts'
import { Gate } from '../support/gate.ts'
import { CHEAP_SCRYPT } from '../support/users.ts'

const { url, name, secret, recheckMs, paginate } = JSON.parse(process.argv[2] ?? '{}')

const client = await MongoClient.connect(url)
const db = client.db(name)
const app = fastifyApp(createApp()).configure(rest())
app.logger = { error: console.error, warn: () => undefined, info: () => undefined }
const bus = mongoEvents({ collection: db.collection('events'), pollMs: 20 })
app.configure(realtime({ bus, recheckMs }))
const taskApp: TaskApp = app
addServices(taskApp, db, secret)
if (paginate) taskApp.service('tasks').options.paginate = paginate
const { local, ...others } = app.get('authentication') as Record<string, object>
app.set('authentication', { ...others, local: { ...local, scrypt: CHEAP_SCRYPT } })
// Another one, as it makes its hashes by the settings that it was registered with.
taskApp.service('authentication').register('local', new LocalStrategy())

/** Ends the process where a task has this title: written and committed, and nobody was told. */
const LAST_TITLE = 'last words'
app.hooks({
  around: {
    all: async ({ data }, next) => {
      await next()
      const { title } = (data ?? {}) as { title?: unknown }
      if (title === LAST_TITLE) process.kill(process.pid, 'SIGKILL')
    },
  },
})

interface Batch {
  readonly team: string
  readonly titles: readonly string[]
  /** Who writes: one of the team. */
  readonly user: string
  /** `killed`: the process ends as soon as the transaction is committed. */
  readonly outcome: 'committed' | 'aborted' | 'killed'
}

/** Where a batch waits, all of it written and nothing committed. */
const gates = new Map<string, Gate>()

function gateOf(id: string): Gate {
  const gate = gates.get(id) ?? new Gate()
  gates.set(id, gate)
  return gate
}

app.use('batches', {
  async create({ team, titles, user, outcome }: Batch) {
    const params = { user: { _id: user } }
    await transaction(app, async () => {
      for (const title of titles) {
        await taskApp.service('tasks').create({ team, title, done: false }, params)
      }
      await gateOf(team).pass()
      if (outcome === 'aborted') throw new Error('Taken back')
    })
    if (outcome === 'killed') process.kill(process.pid, 'SIGKILL')
    return {}
  },
  /** Resolves when the batch of a team waits. */
  async get(team: string) {
    await gateOf(team).arrivals(1)
    return {}
  },
  /** Lets the batch of a team go on. */
  async remove(team: string) {
    gateOf(team).open()
    return {}
  },
})

const server = await app.listen(0)
console.log((server.address() as AddressInfo).port)

import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { createClient } from '../../src/client/index.ts'
import { realtime as clientRealtime } from '../../src/client/realtime/index.ts'
import type { HookContext, Params } from '../../src/core/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import { startOwnServer } from '../support/own-server.ts'
import { until } from '../support/until.ts'

interface Task {
  readonly id: number
  readonly team: string
  readonly rank: number
}

/** Tasks in memory. Which ones it shows, and in which order, only its `find` knows. */
class Tasks {
  readonly all = new Map<number, Task>()

  async find({ query }: Params) {
    const found = [...this.all.values()].filter(({ team }) => team === query?.['team'])
    const data = found.sort((one, other) => one.rank - other.rank || one.id - other.id).slice(0, 3)
    return { total: found.length, limit: 3, skip: 0, data }
  }

  async create(task: Task) {
    return this.put(task)
  }

  async update(_id: number, task: Task) {
    return this.put(task)
  }

  async remove(id: number) {
    const task = this.all.get(id) ?? { id, team: '', rank: 0 }
    this.all.delete(id)
    return task
  }

  put(task: Task): Task {
    this.all.set(task.id, task)
    return task
  }
}

const tasks = new Tasks()
const server = await startOwnServer(t, (app) => {
  app.configure(realtime())
  app.use('tasks', tasks as never)
  // As a service does that guards what it has: listeners without a query get none of its events.
  const ask = ({ params }: HookContext): void => {
    params.query = { team: 'red', ...params.query }
  }
  app.service('tasks').hooks({ before: { find: [ask] } })
})

function connect() {
  const client = createClient({ baseURL: server.url })
  t.teardown(() => client.unuse('tasks'))
  return client.configure(clientRealtime({ reconnectMs: 1, maxReconnectMs: 1 }))
}

const WRITE = fc.record({
  does: fc.constantFrom(...(['create', 'update', 'update', 'remove', 'restart'] as const)),
  id: fc.nat(6),
  team: fc.constantFrom('red', 'red', 'blue'),
  rank: fc.nat(4),
})

type Write = typeof WRITE extends fc.Arbitrary<infer Value> ? Value : never

t.test('a list of a client ends equal to find, whatever is written', async (t) => {
  const service = server.app.service('tasks') as unknown as Tasks
  const query = { team: 'red' }
  const remote = connect().service('tasks')
  const run = async (writes: readonly Write[]): Promise<void> => {
    tasks.all.clear()
    const lists = [await remote.live({ query })]
    for (const { does, ...task } of writes) {
      if (does === 'remove') await service.remove(task.id)
      else if (does === 'restart') lists.push(await remote.live({ query }))
      else if (does === 'create') await service.create(task)
      else await service.update(task.id, task)
    }
    const { data, total } = await tasks.find({ query })
    const expected = JSON.parse(JSON.stringify({ data, total }))
    for (const list of lists) {
      await until(() => isDeepStrictEqual({ data: list.data, total: list.total }, expected))
      list.close()
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(WRITE, { maxLength: 30 }), run), {
    numRuns: 20,
    seed: 20_261_129,
  })
  t.pass('each list became equal')
})

t.test('listeners are told that they hear nothing of others, and hear of their own', async (t) => {
  const client = connect()
  const warnings: { readonly err: Error }[] = []
  const warn = (details: object): void => void warnings.push(details as { err: Error })
  client.logger = { ...console, warn }
  const heard: unknown[] = []
  client.service('tasks').on('created', (task) => heard.push(task))
  await until(() => warnings.length === 1)
  t.match(warnings[0]?.err, { name: 'NotAcceptable', message: /not single events/ })
  const task = { id: 9, team: 'red', rank: 1 }
  await client.service('tasks').create(task as never)
  t.strictSame(heard, [task])
})

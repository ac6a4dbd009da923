import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { createClient } from '../../src/client/index.ts'
import type { LiveList } from '../../src/client/realtime/index.ts'
import { realtime } from '../../src/client/realtime/index.ts'
import type { Query } from '../../src/core/index.ts'
import { openDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { SECRET } from '../support/users.ts'

t.setTimeout(600_000)

const SEED = Number(process.env.LIVE_SEED ?? Math.floor(Math.random() * 2 ** 31))
const RUNS = Number(process.env.LIVE_RUNS ?? 4)
const PROGRAM = fileURLToPath(new URL('./live-tasks-process.js', import.meta.url))
const TEAMS = ['red', 'blue', 'green'] as const

const { db, empty, url } = await openDatabase(t)

/** A process of the application. */
interface Server {
  readonly child: ChildProcess
  readonly port: number
}

const servers: Server[] = []
t.teardown(() => {
  for (const { child } of servers) child.kill('SIGKILL')
})

async function addServer(): Promise<void> {
  const paginate = { default: 3, max: 20 }
  const argument = JSON.stringify({
    url,
    name: db.databaseName,
    secret: SECRET,
    recheckMs: 50,
    paginate,
  })
  const child = spawn(process.execPath, [PROGRAM, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  servers.push({ child, port: Number.parseInt(String(port), 10) })
}

/** Ends a process without a word. Resolves when another one has taken its place. */
async function replaceServer(): Promise<void> {
  const { child } = servers.shift() as Server
  child.kill('SIGKILL')
  await once(child, 'exit')
  await addServer()
}

await Promise.all([addServer(), addServer()])

/** The open connections of clients: the next one leads to another process. */
const connections = new Set<Socket>()
let turn = 0
const balancer = createServer((client) => {
  turn += 1
  const { port } = servers[turn % servers.length] as Server
  const upstream = connect({ port, host: '127.0.0.1' })
  connections.add(client.on('close', () => connections.delete(client)))
  client.on('error', () => client.destroy()).on('close', () => upstream.destroy())
  upstream.on('error', () => client.destroy()).on('close', () => client.destroy())
  client.pipe(upstream).pipe(client)
}).listen(0, '127.0.0.1')
await once(balancer, 'listening')
const baseURL = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`
t.teardown(() => {
  balancer.close()
  cut()
})

function cut(): void {
  for (const connection of connections) connection.destroy()
}

/** Registers a user. Returns a client of that user. */
async function register(_id: string) {
  const password = `the password of ${_id}`
  const guest = createClient({ baseURL, retries: 5 })
  await guest.service('users').create({ _id, password } as never)
  const login = { strategy: 'local', _id, password }
  const { accessToken } = (await guest.service('authentication').create(login as never)) as never
  const client = createClient({
    baseURL,
    retries: 5,
    headers: { authorization: `Bearer ${accessToken}` },
  })
  client.configure(realtime({ reconnectMs: 1, maxReconnectMs: 20, recountMs: 1 }))
  t.teardown(() => client.unuse('tasks'))
  return client
}

const clients = [await register('ann'), await register('eve')] as const
const [ann] = clients
const members = (isEveIn: boolean): string[] => ['ann', ...(isEveIn ? ['eve'] : [])]
for (const _id of TEAMS) await ann.service('teams').create({ _id } as never)

const OPERATION = fc.record({
  does: fc.constantFrom(
    ...(['create', 'create', 'create', 'move', 'rename', 'finish', 'remove'] as const),
    ...(['admit', 'expel', 'open', 'open', 'close', 'cut', 'kill'] as const),
  ),
  team: fc.constantFrom(...TEAMS),
  title: fc.constantFrom(...'abcdefgh'),
  /** Chooses among what there is. */
  which: fc.nat(100),
})
type Operation = typeof OPERATION extends fc.Arbitrary<infer Value> ? Value : never

const QUERIES: readonly Query[] = [
  { $sort: { title: 1, _id: 1 }, $limit: 20 },
  { team: 'red', $sort: { title: -1, _id: 1 } },
  { done: false, $sort: { title: 1, _id: 1 }, $limit: 2 },
  { team: { $in: ['red', 'blue'] }, $sort: { title: 1, _id: 1 }, $skip: 1 },
]

interface OpenList {
  readonly list: LiveList
  readonly query: Query
  readonly client: (typeof clients)[number]
}

/** Does what an operation says, all of whose writes are those of Ann. */
async function write({ does, team, title, which }: Operation, ids: string[]): Promise<unknown> {
  const tasks = ann.service('tasks')
  const id = ids[which % Math.max(ids.length, 1)]
  if (does === 'create') {
    const created = await tasks.create({ team, title, done: false } as never)
    return ids.push(String((created as { _id?: unknown })._id))
  }
  if (does === 'admit' || does === 'expel') {
    const data = { members: members(does === 'admit') }
    return ann.service('teams').patch(team, data as never)
  }
  if (id === undefined) return undefined
  if (does === 'move') return tasks.patch(id, { team } as never)
  if (does === 'rename') return tasks.patch(id, { title } as never)
  if (does === 'finish') return tasks.patch(id, { done: which % 2 === 0 } as never)
  ids.splice(ids.indexOf(id), 1)
  return tasks.remove(id)
}

/** Writes, and forgives that the process of a write was killed or its connection cut. */
async function tryToWrite(operation: Operation, ids: string[]): Promise<void> {
  try {
    await write(operation, ids)
  } catch (error) {
    const { name } = error as Error
    // A repeated removal, or a patch of a task whose removal had no response.
    if (name !== 'Unavailable' && name !== 'NotFound') throw error
  }
}

/** Resolves when a list is what `find` returns to its user, with its order and its total. */
async function settles({ list, query, client }: OpenList): Promise<void> {
  await until(async () => {
    const found = await client.service('tasks').find({ query } as never)
    const { data, total } = found as unknown as { data: unknown[]; total: number }
    return isDeepStrictEqual([list.data, list.total], [data, total])
  })
}

async function run(operations: readonly Operation[]): Promise<void> {
  await empty('tasks')
  const open: OpenList[] = []
  const ids: string[] = []
  let replaced = Promise.resolve()
  for (const operation of operations) {
    const { does, which } = operation
    if (does === 'open') {
      const client = clients[which % 2] as OpenList['client']
      const query = QUERIES[which % QUERIES.length] as Query
      const list = (await client.service('tasks').live({ query } as never)) as LiveList
      open.push({ list, query, client })
    } else if (does === 'close') for (const { list } of open.splice(which % 3, 1)) list.close()
    else if (does === 'cut') cut()
    else if (does === 'kill') {
      await replaced
      replaced = replaceServer()
    } else await tryToWrite(operation, ids)
  }
  await replaced
  for (const one of open) await settles(one)
  assert.deepEqual(new Set(open.map(({ list }) => list.status)), new Set(open.map(() => 'open')))
  for (const { list } of open) list.close()
}

t.test(
  'lists are what find returns, whichever process is killed and whose rights change',
  async (t) => {
    t.comment(`LIVE_SEED=${SEED}`)
    const all = fc.array(OPERATION, { minLength: 30, maxLength: 60 })
    // What happens at the same time is not the same twice: nothing can be made smaller.
    await fc.assert(fc.asyncProperty(all, run), { seed: SEED, numRuns: RUNS, endOnFailure: true })
  },
)

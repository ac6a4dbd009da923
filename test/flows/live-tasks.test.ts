import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { MongoClient } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { startEmbeddedMongo } from '../../src/adapter/embedded/index.ts'
import { startExample } from '../support/example-process.ts'
import type { LiveRecord } from '../support/live-list.ts'
import { LiveList, sortById } from '../support/live-list.ts'
import { until } from '../support/until.ts'
import { SECRET } from '../support/users.ts'

// Nine processes are started, and each of them takes its time.
t.setTimeout(600_000)

const PROGRAM = fileURLToPath(new URL('./live-tasks-process.js', import.meta.url))

const embedded = process.env.MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
const url = process.env.MONGODB_URL ?? embedded?.url ?? ''
const name = `remex_live_tasks_${process.pid}`
const children: ChildProcess[] = []
t.teardown(async () => {
  for (const child of children) child.kill('SIGKILL')
  if (embedded === undefined) {
    // It waits for the transactions of those that were killed, as long as the server keeps them.
    const client = await MongoClient.connect(url)
    await client.db(name).dropDatabase()
    await client.close()
  }
  await embedded?.close()
})

class Server {
  readonly origin: string
  readonly #child: ChildProcess

  constructor(child: ChildProcess, port: number) {
    this.#child = child
    this.origin = `http://127.0.0.1:${port}`
  }

  /** Ends the process without a word. */
  async kill(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }

  /** Resolves to the signal that has ended the process, when it has. */
  async ended(): Promise<unknown> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      await once(this.#child, 'exit')
    }
    return this.#child.signalCode
  }

  /** Sends a request. Resolves to the body; rejects with the status where it is an error. */
  async send(method: string, path: string, data?: object, token = ''): Promise<LiveRecord> {
    const response = await fetch(this.origin + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: data === undefined ? null : JSON.stringify(data),
    })
    const body = await response.json()
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}`)
    return body as LiveRecord
  }
}

async function startServer(): Promise<Server> {
  const argument = JSON.stringify({ url, name, secret: SECRET, recheckMs: 50 })
  const child = spawn(process.execPath, [PROGRAM, argument], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return new Server(child, Number.parseInt(String(port), 10))
}

/** Registers a user with the name as password, and returns the token. */
async function register(server: Server, _id: string): Promise<string> {
  const password = `the password of ${_id}`
  await server.send('POST', '/users', { _id, password })
  const login = { strategy: 'local', _id, password }
  return String((await server.send('POST', '/authentication', login))['accessToken'])
}

const [first, second] = await Promise.all([startServer(), startServer()])
const ann = await register(first, 'ann')
const eve = await register(second, 'eve')

/** Adds a team of Ann and others. */
async function addTeam(_id: string, ...others: string[]): Promise<void> {
  await first.send('POST', '/teams', { _id }, ann)
  await first.send('PATCH', `/teams/${_id}`, { members: ['ann', ...others] }, ann)
}

/** Adds a task, or several at once. */
function addTask(server: Server, team: string, title: string, token = ann): Promise<LiveRecord> {
  return server.send('POST', '/tasks', { team, title, done: false }, token)
}

/** Follows tasks until the end of the test. */
async function follow(t: Test, server: Server, token: string, query = ''): Promise<LiveList> {
  const list = new LiveList()
  t.teardown(() => list.leave())
  await list.follow(`${server.origin}/tasks${query}`, token)
  return list
}

const eventsOf = ({ frames }: LiveList): string[] => frames.map(({ event }) => event)

t.test('a write at one process is heard at the other', async (t) => {
  await addTeam('heard')
  const query = '?team=heard'
  const lists = [await follow(t, first, ann, query), await follow(t, second, ann, query)]
  const heard = (event: string) => until(() => lists.every((one) => eventsOf(one).includes(event)))
  const { _id } = await addTask(first, 'heard', 'Sing')
  await heard('created')
  await second.send('PATCH', `/tasks/${_id}`, { title: 'Dance' }, ann)
  await heard('patched')
  for (const list of lists) t.match(list.list(), [{ _id, title: 'Dance', done: false }])
  await first.send('DELETE', `/tasks/${_id}`, undefined, ann)
  await heard('removed')
  for (const list of lists) {
    t.strictSame(list.list(), [])
    t.strictSame(eventsOf(list), ['snapshot', 'created', 'patched', 'removed'])
  }
})

t.test('the members of a team alone hear of its tasks', async (t) => {
  await addTeam('shut')
  await addTeam('open', 'eve')
  await addTask(first, 'shut', 'there before')
  const member = await follow(t, second, ann)
  const all = await follow(t, second, eve)
  const asked = await follow(t, second, eve, '?team=shut')
  const task = await addTask(first, 'shut', 'of the others')
  const moved = await addTask(first, 'open', 'on its way')
  await all.hears('title', 'on its way')
  await member.hears('title', 'of the others')
  await second.send('PATCH', `/tasks/${moved._id}`, { team: 'shut', title: 'arrived' }, ann)
  await addTask(first, 'open', 'of all')
  await all.hears('title', 'of all')
  await member.hears('title', 'arrived')
  t.strictSame(all.seen('title'), ['on its way', 'of all'])
  t.strictSame(all.frames[2], { event: 'left', data: { _id: moved._id } })
  t.strictSame(asked.frames, [{ event: 'snapshot', data: [] }])
  const denied = { message: /was answered 404$/ }
  await t.rejects(first.send('GET', `/tasks/${task._id}`, undefined, eve), denied)
  await t.rejects(first.send('PATCH', `/tasks/${task._id}`, { done: true }, eve), denied)
  await t.rejects(addTask(first, 'shut', 'of a stranger', eve), denied)
  await t.rejects(first.send('PATCH', '/teams/shut', { members: ['eve'] }, eve), denied)
  await t.rejects(new LiveList().follow(`${first.origin}/tasks`), { message: /401$/ })
})

t.test('who is thrown out hears nothing more when it has been looked up anew', async (t) => {
  await addTeam('left', 'eve')
  await addTeam('kept', 'eve')
  await addTask(first, 'left', 'before')
  const lists = [await follow(t, first, eve), await follow(t, second, eve)]
  const member = await follow(t, second, ann)
  for (const list of lists) await list.hears('title', 'before')
  await first.send('PATCH', '/teams/left', { members: ['ann'] }, ann)
  for (const list of lists) {
    await until(() => eventsOf(list).includes('resync') && eventsOf(list).at(-1) === 'snapshot')
    t.notOk(list.list().some(({ team }) => team === 'left'))
  }
  await addTask(first, 'left', 'after')
  await addTask(second, 'left', 'after, too')
  await addTask(first, 'kept', 'for both')
  for (const title of ['after', 'after, too', 'for both']) await member.hears('title', title)
  for (const list of lists) {
    await list.hears('title', 'for both')
    t.notOk(list.seen('title').some((title) => String(title).startsWith('after')))
  }
})

t.test('who comes back with other rights has the list of now, at any process', async (t) => {
  await addTeam('lost', 'eve')
  await addTeam('won')
  for (const team of ['lost', 'won']) await addTask(first, team, 'before')
  const query = '?team[$in][]=lost&team[$in][]=won'
  const lists = [await follow(t, first, eve, query), await follow(t, first, eve, query)]
  for (const list of lists) {
    await list.hears('team', 'lost')
    list.leave()
  }
  await first.send('PATCH', '/teams/lost', { members: ['ann'] }, ann)
  await first.send('PATCH', '/teams/won', { members: ['ann', 'eve'] }, ann)
  for (const [index, list] of lists.entries()) {
    const { origin } = [first, second][index] ?? first
    await list.follow(`${origin}/tasks${query}`, eve)
    await addTask(first, 'won', `after ${index}`)
    await list.hears('title', `after ${index}`)
    const found = await first.send('GET', `/tasks${query}`, undefined, eve)
    t.strictSame(list.list(), sortById(found as unknown as LiveRecord[]), origin)
  }
})

t.test('what a transaction writes is heard after the commit', async (t) => {
  await addTeam('committed')
  const query = '?team=committed'
  const lists = [await follow(t, first, ann, query), await follow(t, second, ann, query)]
  const batch = { team: 'committed', titles: ['one', 'two'], user: 'ann', outcome: 'committed' }
  const answer = first.send('POST', '/batches', batch)
  await first.send('GET', '/batches/committed')
  await addTask(first, 'committed', 'meanwhile')
  for (const list of lists) await list.hears('title', 'meanwhile')
  await first.send('DELETE', '/batches/committed')
  await answer
  for (const list of lists) {
    await list.hears('title', 'two')
    t.strictSame(list.seen('title'), ['meanwhile', 'one', 'two'])
  }
})

t.test('what a transaction writes is not heard after an abort', async (t) => {
  await addTeam('aborted')
  const query = '?team=aborted'
  const lists = [await follow(t, first, ann, query), await follow(t, second, ann, query)]
  const batch = { team: 'aborted', titles: ['one', 'two'], user: 'ann', outcome: 'aborted' }
  const answer = first.send('POST', '/batches', batch)
  await first.send('GET', '/batches/aborted')
  await first.send('DELETE', '/batches/aborted')
  await t.rejects(answer, { message: /was answered 500$/ })
  await addTask(first, 'aborted', 'afterwards')
  for (const list of lists) {
    await list.hears('title', 'afterwards')
    t.strictSame(list.seen('title'), ['afterwards'])
  }
})

t.test('what was committed just before the process was killed is heard', async (t) => {
  await addTeam('killed')
  const third = await startServer()
  const query = '?team=killed'
  const list = await follow(t, second, ann, query)
  const own = await follow(t, third, ann, query)
  const batch = { team: 'killed', titles: ['one', 'two'], user: 'ann', outcome: 'killed' }
  const answer = third.send('POST', '/batches', batch)
  await Promise.all([t.rejects(answer), third.send('DELETE', '/batches/killed')])
  t.equal(await third.ended(), 'SIGKILL')
  await list.hears('title', 'two')
  t.strictSame(list.seen('title'), ['one', 'two'])
  await until(() => own.isClosed)
  await own.follow(`${second.origin}/tasks${query}`, ann)
  await own.hears('title', 'two')
  t.strictSame(own.list(), list.list())
})

t.test('so is what a call with the hook transaction() has committed', async (t) => {
  await addTeam('killed-too')
  const third = await startServer()
  const list = await follow(t, second, ann, '?team=killed-too')
  await t.rejects(addTask(third, 'killed-too', 'last words'))
  t.equal(await third.ended(), 'SIGKILL')
  await list.hears('title', 'last words')
  t.strictSame(eventsOf(list), ['snapshot', 'created'])
})

/** Writes tasks in the teams of Ann and Eve until the process is gone; counts what was answered. */
async function writeOn(server: Server, written: string[], isOver: () => boolean): Promise<void> {
  const send = (method: string, id: string, data?: object) =>
    server.send(method, `/tasks/${id}`, data, ann)
  try {
    for (let number = 0; !isOver(); number += 1) {
      const { _id } = await addTask(server, number % 2 === 0 ? 'crashed' : 'crashed-too', 'new')
      written.push(_id)
      await send('PATCH', _id, { title: `task ${number}`, done: number % 3 === 0 })
      await send('PATCH', _id, { team: number % 4 < 2 ? 'crashed' : 'crashed-too' })
      if (number % 5 === 0) await send('DELETE', _id)
    }
  } catch (error) {
    if (!isOver()) throw error
  }
}

t.test('clients of a process that is killed come back to another and miss nothing', async (t) => {
  await addTeam('crashed')
  await addTeam('crashed-too', 'eve')
  const third = await startServer()
  const both = '?team[$in][]=crashed&team[$in][]=crashed-too'
  const queries = [
    { query: both, token: ann },
    { query: '?team=crashed', token: ann },
    { query: `${both}&done=false`, token: ann },
    { query: both, token: eve },
  ]
  const open = async (server: Server) =>
    Promise.all(
      queries.map(async (one) => ({ ...one, list: await follow(t, server, one.token, one.query) })),
    )
  const [back, there] = [await open(third), await open(second)]
  const written: string[] = []
  let isOver = false
  const writers = [third, third, third, second].map((server) =>
    writeOn(server, written, () => isOver),
  )
  await until(() => written.length >= 24, Promise.all(writers))
  isOver = true
  await third.kill()
  await Promise.all(writers)

  for (const { list, query, token } of back) {
    await until(() => list.isClosed)
    await list.follow(`${second.origin}/tasks${query}`, token)
  }
  for (const team of ['crashed', 'crashed-too']) await addTask(second, team, 'the last one')
  for (const { list, query, token } of [...there, ...back]) {
    const found = await second.send('GET', `/tasks${query}`, undefined, token)
    const expected = sortById(found as unknown as LiveRecord[])
    const last = expected.filter(({ title }) => title === 'the last one')
    await until(() => last.every(({ _id }) => list.records.has(_id)))
    t.ok(expected.length > 5)
    t.strictSame(list.list(), expected, query)
  }
})

t.test('the example runs as it stands, in as many processes as are started', async (t) => {
  const start = (variables = {}) =>
    startExample(t, 'live-tasks', '"title"', { AUTH_SECRET: SECRET, ...variables })
  const one = await start()
  const [, database = ''] = /MONGODB_URL='(.+?)'/.exec(one.output) ?? []
  const two = await start({ MONGODB_URL: database })
  const [server, other] = [new Server(one.child, one.port), new Server(two.child, two.port)]
  const token = await register(server, 'ben')
  await other.send('POST', '/teams', { _id: 'red' }, token)
  const list = await follow(t, other, token)
  const { _id } = await addTask(server, 'red', 'Sing', token)
  await list.hears('title', 'Sing')
  await server.send('PATCH', `/tasks/${_id}`, { done: true }, token)
  await list.hears('done', true)
  t.match(list.list(), [{ _id, title: 'Sing', done: true }])
})

import type { Document } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate } from '../../../src/auth/index.ts'
import type { HookContext } from '../../../src/core/index.ts'
import { recheckStreams } from '../../../src/transport/realtime/index.ts'
import { addAccounts, bearer, logIn } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { replaceMethods } from '../../support/replaced-methods.ts'
import { until } from '../../support/until.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const collection = db.collection('tasks')

t.beforeEach(() => empty('tasks'))

/** Has what streams read wait at a gate, when it has been read. */
function waitAfterReads(gates: () => Gate | undefined): typeof collection {
  const find = (filter: Document, options: object) => {
    const cursor = collection.find(filter, options)
    if (filter['_id']?.$in === undefined) return cursor
    return {
      async toArray() {
        const found = await cursor.toArray()
        await gates()?.pass()
        return found
      },
    }
  }
  return replaceMethods(collection, { find })
}

t.test('what was read before the rights changed is told no more, and nothing twice', async (t) => {
  let team = 'red'
  let gate: Gate | undefined
  const Model = waitAfterReads(() => gate)
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model }))
      const restrict = ({ params }: HookContext): void => {
        params.query = { ...params.query, team: { $in: [team, 'both'] } }
      }
      app.service('tasks').hooks({ before: { find: [restrict] } })
    },
    { realtime: { recheckMs: 20 } },
  )
  const tasks = server.app.service('tasks')
  const stream = await server.open('/tasks')
  await stream.next()
  gate = new Gate()
  await tasks.create({ team: 'both', name: 'a' } as never)
  await gate.arrivals(1)
  await tasks.create({ team: 'both', name: 'c' } as never)
  await collection.updateOne({ name: 'a' }, { $set: { name: 'b' } })
  team = 'blue'
  const frames = await stream.upTo(({ event }) => event === 'snapshot')
  t.match(frames.at(-1)?.data, [{ name: 'b' }, { name: 'c' }])
  gate.open()
  gate = undefined
  const lines = await linesSoFar(stream, tasks, { team: 'both' })
  t.strictSame(lines, [], 'what the snapshot has, newer than it was read')
})

t.test('a logout ends a stream too that is at something else just then', async (t) => {
  let gate: Gate | undefined
  const server = await startLiveServer(t, async (app) => {
    const accounts = addAccounts(app, { settings: { revocation: true } })
    app.use('tasks', new MongoDBService({ Model: collection }))
    app.service('tasks').hooks({
      before: { find: [authenticate('jwt')] },
      after: { find: [() => gate?.pass() as never] },
    })
    await accounts.addUser({ id: 1, email: 'ada@example.org' })
  })
  const headers = bearer(await logIn(server))
  const stream = await server.open('/tasks', headers)
  await stream.next()
  gate = new Gate()
  await server.app.service('tasks').create({ name: 'a' } as never)
  await gate.arrivals(1)
  const { status } = await server.request('/authentication', { method: 'DELETE', headers })
  t.equal(status, 200)
  gate.open()
  gate = undefined
  const frames = await stream.rest()
  t.match(frames, [{ event: 'end', data: { reason: 'expired' } }], 'and no record before')
})

/** A server whose tasks wait at a gate, after the hooks have let their caller pass. */
async function startGatedServer(t: Test, { realtime = {}, settings = {} } = {}) {
  const gates: { before?: Gate; after?: Gate } = {}
  let accounts!: ReturnType<typeof addAccounts>
  const server = await startLiveServer(
    t,
    (app) => {
      accounts = addAccounts(app, { settings })
      app.use('tasks', new MongoDBService({ Model: collection }))
      app.service('tasks').hooks({
        before: { find: [authenticate('jwt'), () => gates.before?.pass() as never] },
        after: { find: [() => gates.after?.pass() as never] },
      })
    },
    { realtime: { recheckMs: 1_000_000, ...realtime } },
  )
  await accounts.addUser({ id: 1, email: 'ada@example.org' })
  const headers = bearer(await logIn(server))
  const logOut = async (): Promise<void> => {
    const { status } = await server.request('/authentication', { method: 'DELETE', headers })
    t.equal(status, 200)
  }
  return { server, accounts, headers, gates, logOut, tasks: server.app.service('tasks') }
}

t.test('a recheck that is due comes before what hooks have shown meanwhile', async (t) => {
  const options = { realtime: { recheckMs: 20 } }
  const { server, accounts, headers, gates, tasks } = await startGatedServer(t, options)
  let checks = 0
  server.app.use('other', new MongoDBService({ Model: collection }))
  server.app.service('other').hooks({
    before: {
      find: [
        () => {
          checks += 1
        },
      ],
    },
  })
  await server.open('/other')
  const stream = await server.open('/tasks', headers)
  await stream.next()
  const gate = new Gate()
  gates.after = gate
  await tasks.create({ name: 'a' } as never)
  await gate.arrivals(1)
  await accounts.users.remove(1)
  for (const name of ['b', 'c']) await tasks.create({ name } as never)
  // Another stream has been rechecked twice: by then the time for this one has come too.
  const before = checks
  await until(() => checks >= before + 3)
  delete gates.after
  gate.open()
  const frames = await stream.rest()
  t.match(frames, [{ event: 'end', data: { reason: 'expired' } }])
})

t.test('a logout while the rights are looked up has them looked up again', async (t) => {
  const { server, headers, gates, logOut, tasks } = await startGatedServer(t, {
    settings: { revocation: true },
  })
  const stream = await server.open('/tasks', headers)
  await stream.next()
  const gate = new Gate()
  gates.before = gate
  recheckStreams(tasks)
  await gate.arrivals(1)
  await logOut()
  await tasks.create({ name: 'a' } as never)
  gate.open()
  t.match(await stream.rest(), [{ event: 'end', data: { reason: 'expired' } }])
})

t.test('a logout while a stream is being opened lets it send nothing', async (t) => {
  const { server, headers, gates, logOut, tasks } = await startGatedServer(t, {
    settings: { revocation: true },
  })
  await tasks.create({ name: 'secret' } as never)
  const gate = new Gate()
  gates.after = gate
  const opening = server.open('/tasks', headers)
  await gate.arrivals(1)
  await logOut()
  gate.open()
  const frames = await (await opening).rest()
  t.strictSame(frames.at(-1)?.data.reason, 'expired')
  t.notMatch(JSON.stringify(frames), 'secret')
})

t.test('a logout that revokes no token ends no stream', async (t) => {
  const { server, headers, logOut, tasks } = await startGatedServer(t)
  const stream = await server.open('/tasks', headers)
  await stream.next()
  await logOut()
  t.strictSame(await linesSoFar(stream, tasks), [])
})

t.test('a recheck that finds nothing new tells nothing', async (t) => {
  let checks = 0
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model: collection }))
      app.service('tasks').hooks({
        before: {
          find: [
            ({ params }: HookContext) => {
              checks += 1
              params.query = { ...params.query, at: { $ne: new Date(0) } }
            },
          ],
        },
      })
    },
    { realtime: { recheckMs: 10 } },
  )
  const stream = await server.open('/tasks')
  await stream.next()
  await until(() => checks >= 5)
  t.strictSame(toLines(stream.frames), ['snapshot'])
})

t.test('a recheck sees the call as it was made: headers, address and query', async (t) => {
  const seen: unknown[] = []
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model: collection }))
      app.service('tasks').hooks({
        before: {
          find: [
            ({ params }: HookContext) => {
              const { address, headers, provider, query } = params
              seen.push(JSON.stringify({ address, caller: headers?.['x-caller'], provider, query }))
              params.query = {}
              params.provider = 'changed'
            },
          ],
        },
      })
    },
    { realtime: { recheckMs: 10 } },
  )
  const stream = await server.open('/tasks?name=a', { 'x-caller': 'ann' })
  await stream.next()
  await until(() => seen.length >= 4)
  t.equal(new Set(seen).size, 1, `${seen[0]} ${seen[1]}`)
  t.strictSame(JSON.parse(String(seen[0])), {
    address: '127.0.0.1',
    caller: 'ann',
    provider: 'rest',
    query: { name: 'a' },
  })
})

/** A server whose tasks have pages, and how often the hooks of `find` have run. */
async function startPagedServer(t: Test) {
  const checks: { count: number; next?: () => unknown } = { count: 0 }
  const server = await startLiveServer(
    t,
    (app) => {
      const paginate = { default: 2, max: 10 }
      const service = new MongoDBService({ Model: collection, paginate, multi: true })
      app.use('tasks', service, { events: ['reminded'] })
      const count = (): void => {
        checks.count += 1
        checks.next?.()
        delete checks.next
      }
      app.service('tasks').hooks({ before: { find: [count] } })
    },
    { realtime: { recheckMs: 20 } },
  )
  const addAll = async (team: string, count: number): Promise<unknown[]> => {
    const tasks = Array.from({ length: count }, (_value, index) => ({ team, name: index }))
    const added = await server.app.service('tasks').create(tasks as never)
    return (added as unknown as { _id: unknown }[]).map(({ _id }) => _id)
  }
  return { ...server, addAll, checks }
}

const REMAINS = { 'leave the query': { team: 'blue' }, 'are removed': null } as const

for (const [what, change] of Object.entries(REMAINS)) {
  t.test(`a recheck corrects the total after records behind the page ${what}`, async (t) => {
    const { open, app, addAll } = await startPagedServer(t)
    const tasks = app.service('tasks')
    const ids = await addAll('red', 4)
    const stream = await open('/tasks?team=red')
    t.match((await stream.next()).data, { total: 4 })
    if (change === null)
      await collection.updateOne({ _id: ids[3] as never }, { $set: { team: '' } })
    await (change ? tasks.patch(ids[3] as never, change as never) : tasks.remove(ids[3] as never))
    const frame = await stream.next()
    t.match(frame, { event: 'snapshot', data: { total: 3, data: [{ name: 0 }, { name: 1 }] } })
    t.not(frame.id, '')
    // The stream goes on behind the snapshot.
    await tasks.patch(ids[0] as never, { name: 'new' } as never)
    t.match(await stream.next(), { event: 'patched', data: { name: 'new' } })
  })
}

t.test('a recheck that corrects a total loses no custom event', async (t) => {
  const { open, app, addAll, checks } = await startPagedServer(t)
  const tasks = app.service('tasks')
  const ids = await addAll('red', 4)
  const stream = await open('/tasks?team=red')
  await stream.next()
  await tasks.patch(ids[3] as never, { team: 'blue' } as never)
  // Emitted while the hooks of the recheck run, before it reads the page.
  checks.next = () => tasks.emit('reminded', { _id: ids[0], name: 'now' } as never)
  await stream.upTo(({ event }) => event === 'reminded')
  const isRight = () =>
    stream.frames.some(({ event, data }) => event === 'snapshot' && data.total === 3)
  await until(isRight)
})

t.test('a change of rights while a total is to be corrected sends a resync', async (t) => {
  let team = 'red'
  const server = await startLiveServer(
    t,
    (app) => {
      const paginate = { default: 1, max: 10 }
      app.use('tasks', new MongoDBService({ Model: collection, paginate }))
      const restrict = ({ params }: HookContext): void => {
        params.query = { ...params.query, team }
      }
      app.service('tasks').hooks({ before: { find: [restrict] } })
    },
    { realtime: { recheckMs: 1_000_000 } },
  )
  const tasks = server.app.service('tasks')
  await collection.insertMany([{ team: 'red' }, { team: 'red', name: 'last' }])
  const stream = await server.open('/tasks')
  await stream.next()
  const last = await collection.findOne({ name: 'last' })
  await tasks.patch(last?._id as never, { team: 'blue' } as never)
  await linesSoFar(stream, tasks, { team: 'red' })
  team = 'blue'
  recheckStreams(tasks)
  t.equal((await stream.next()).event, 'resync')
  t.match(await stream.next(), { event: 'snapshot', data: { total: 1, data: [{ name: 'last' }] } })
})

t.test('a recheck sends no page that the client has', async (t) => {
  const { open, app, addAll, checks } = await startPagedServer(t)
  await addAll('red', 4)
  const [other] = await addAll('blue', 1)
  const stream = await open('/tasks?team=red')
  await stream.next()
  for (const team of ['green', 'blue']) {
    await app.service('tasks').patch(other as never, { team } as never)
    const { count } = checks
    await until(() => checks.count >= count + 3)
  }
  t.strictSame(await linesSoFar(stream, app.service('tasks'), { team: 'red' }), [])
})

t.test('a recheck sends no page again whose records are all known', async (t) => {
  const { open, app, addAll, checks } = await startPagedServer(t)
  await addAll('red', 1)
  const [other] = await addAll('blue', 1)
  const stream = await open('/tasks?team=red')
  await stream.next()
  await app.service('tasks').create({ team: 'red', name: 'more' } as never)
  await app.service('tasks').patch(other as never, { team: 'green' } as never)
  const { count } = checks
  await until(() => checks.count >= count + 3)
  t.strictSame(await linesSoFar(stream, app.service('tasks'), { team: 'red' }), ['created more'])
})

/** A server whose tasks are those of the teams that a set holds, for whoever asks. */
async function startTeamServer(t: Test, hooks: object = {}) {
  const teams = new Set(['red'])
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model: collection }))
      const restrict = ({ params }: HookContext): void => {
        params.query = { ...params.query, team: { $in: [...teams] } }
      }
      app.service('tasks').hooks({ before: { find: [restrict] }, ...hooks })
    },
    { realtime: { recheckMs: 1_000_000 } },
  )
  const tasks = server.app.service('tasks')
  const stream = await server.open('/tasks')
  t.equal((await stream.next()).event, 'snapshot')
  return { teams, stream, tasks }
}

t.test(
  'recheckStreams() has rights count at once, those that are given and those that end',
  async (t) => {
    const { teams, stream, tasks } = await startTeamServer(t)
    await tasks.create({ team: 'blue', name: 'early' })
    teams.add('blue')
    recheckStreams(tasks)
    await tasks.create({ team: 'blue', name: 'late' })
    const events = [await stream.next(), await stream.next()]
    t.strictSame(
      events.map(({ event }) => event),
      ['resync', 'snapshot'],
    )
    await tasks.create({ team: 'red', name: 'a' })
    const lines = await linesSoFar(stream, tasks, { team: 'blue' })
    t.ok(lines.includes('created a'))
    teams.delete('blue')
    recheckStreams(tasks)
    await tasks.create({ team: 'blue', name: 'secret' })
    t.notMatch(toLines([await stream.next(), await stream.next()]), ['secret'])
    t.strictSame(await linesSoFar(stream, tasks, { team: 'red' }), [])
  },
)

t.test('streams that nothing has changed for go on after recheckStreams()', async (t) => {
  const { stream, tasks } = await startTeamServer(t)
  await tasks.create({ team: 'red', name: 'a' })
  recheckStreams(tasks)
  await tasks.create({ team: 'red', name: 'b' })
  t.strictSame(await linesSoFar(stream, tasks, { team: 'red' }), ['created a', 'created b'])
})

t.test('what hooks show while rights end is told no more', async (t) => {
  let gate: Gate | undefined
  const { teams, stream, tasks } = await startTeamServer(t, {
    after: { find: [() => gate?.pass() as never] },
  })
  const shown = new Gate()
  gate = shown
  await tasks.create({ team: 'red', name: 'secret' })
  await shown.arrivals(1)
  gate = undefined
  teams.delete('red')
  recheckStreams(tasks)
  shown.open()
  const frames = await stream.upTo(({ event }) => event === 'snapshot')
  t.strictSame(
    frames.map(({ event, data }) => [event, data]),
    [
      ['resync', {}],
      ['snapshot', []],
    ],
  )
})

t.test('where hooks run for each record, their query judges it', async (t) => {
  let calls = 0
  const count = (): void => {
    calls += 1
  }
  const { teams, stream, tasks } = await startTeamServer(t, { after: { find: [count] } })
  teams.clear()
  await tasks.create({ team: 'red', name: 'secret' })
  await until(() => calls >= 2)
  teams.add('red')
  t.strictSame(await linesSoFar(stream, tasks, { team: 'red' }), [])
})

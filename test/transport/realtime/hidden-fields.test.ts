import type { Collection } from 'mongodb'
import { BSON } from 'mongodb'
import t from 'tap'
import {
  limitTo,
  MongoDBService,
  mongoEvents,
  softDelete,
  transaction,
} from '../../../src/adapter/index.ts'
import { publish } from '../../../src/transport/realtime/index.ts'
import { openDatabase } from '../../support/database.ts'
import type { TestScope } from '../../support/http.ts'
import { until } from '../../support/until.ts'
import { linesSoFar, startLiveServer, toLines } from './live-server.ts'

const { empty } = await openDatabase(t)

const HIDDEN = ['password', 'login.hash', 'devices.key']
const SECRETS = { password: 'secret', login: { hash: 'secret' }, devices: [{ key: 'secret' }] }

interface Users {
  create(data: object): Promise<{ readonly _id: never }>
  remove(id: unknown): Promise<unknown>
  emit(event: string, data: object): void
}

/** Starts a service of users with hidden fields. A hook limits what external callers find. */
async function start(t: TestScope, { hasBus = true, isSoft = false } = {}) {
  const [Model, events] = [await empty('users'), await empty('events')]
  let limit: object = {}
  const bus = hasBus ? mongoEvents({ collection: events, pollMs: 5 }) : null
  const server = await startLiveServer(
    t,
    (app) => {
      app.use('users', new MongoDBService({ Model, hidden: HIDDEN }), { events: ['seen'] })
      app.service('users').hooks({
        before: {
          ...(isSoft ? { all: [softDelete()] } : {}),
          find: [limitTo(() => limit)],
        },
      })
    },
    { realtime: { bus } },
  )
  return {
    ...server,
    events,
    users: server.app.service('users') as unknown as Users,
    setLimit: (one: object) => {
      limit = one
    },
  }
}

/** Resolves to all that is stored of events, as text. */
async function readStored(events: Collection): Promise<string> {
  const stored = await events.find().toArray()
  return stored.map((event) => Buffer.from(BSON.serialize(event)).toString('latin1')).join()
}

t.test('hidden fields are in no stored event, of whatever kind', async (t) => {
  const { users, events, open, app } = await start(t)
  const stream = await open('/users?$limit=0')
  await stream.next()
  const create = () => users.create({ name: 'Ann', ...SECRETS })
  const [{ _id: one }, { _id: two }] = [await create(), await create()]
  users.emit('seen', { _id: one, name: 'Ann', ...SECRETS })
  await users.remove(one)
  await transaction(app, () => users.remove(two))
  await until(async () => (await events.countDocuments()) === 5)
  const text = await readStored(events)
  t.match(text, /removed[\s\S]*Ann/)
  t.notMatch(text, /secret|devices\.key/)
})

t.test('a removed record that a hook marks is stored without them, too', async (t) => {
  const { users, events, open } = await start(t, { isSoft: true })
  await (await open('/users')).next()
  const { _id } = await users.create({ name: 'Ann', ...SECRETS })
  await users.remove(_id)
  await until(async () => (await events.countDocuments()) === 2)
  t.notMatch(await readStored(events), /secret/)
})

for (const hasBus of [true, false]) {
  const how = hasBus ? 'with a bus' : 'without a bus'

  t.test(`${how}: a removed record is told as before, without them`, async (t) => {
    const { users, open } = await start(t, { hasBus })
    const stream = await open('/users?name=Ann')
    await stream.next()
    const { _id } = await users.create({ name: 'Ann', ...SECRETS })
    await stream.next()
    await users.remove(_id)
    const { event, data } = await stream.next()
    t.equal(event, 'removed')
    t.strictSame(data, { _id: `${_id}`, name: 'Ann', login: {}, devices: [{}] })
  })

  t.test(`${how}: a condition on them hides removed records as it hides others`, async (t) => {
    const { users, open, setLimit } = await start(t, { hasBus })
    for (const condition of [
      { password: { $ne: 'secret' } },
      { 'login.hash': { $exists: false } },
      { $nor: [{ devices: { $elemMatch: { key: 'secret' } } }] },
      { $and: [{ name: { $ne: 'x' } }, { $or: [{ password: null }] }] },
    ]) {
      setLimit(condition)
      const stream = await open('/users')
      await stream.next()
      const { _id } = await users.create({ name: 'Ann', ...SECRETS })
      await users.remove(_id)
      const label = JSON.stringify(condition)
      t.strictSame(await linesSoFar(stream, users), [], label)
    }
  })

  t.test(`${how}: who has a record is told of its removal by its id`, async (t) => {
    const { users, open, setLimit } = await start(t, { hasBus })
    setLimit({ password: { $ne: 'other' } })
    const stream = await open('/users')
    await stream.next()
    const { _id } = await users.create({ name: 'Ann', ...SECRETS })
    t.strictSame(toLines([await stream.next()]), ['created Ann'])
    await users.remove(_id)
    t.strictSame(toLines([await stream.next()]), [`removed ${_id}`])
  })

  t.test(`${how}: a publisher is not asked about a record without them`, async (t) => {
    const { users, open, app } = await start(t, { hasBus })
    publish(app.service('users'), (user) => user['password'] !== 'secret')
    const stream = await open('/users')
    await stream.next()
    const { _id } = await users.create({ name: 'Ann', ...SECRETS })
    await users.remove(_id)
    t.strictSame(await linesSoFar(stream, users), [])
  })
}

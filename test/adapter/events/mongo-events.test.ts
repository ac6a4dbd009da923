import { EventEmitter, once } from 'node:events'
import type { Collection, Document } from 'mongodb'
import { MongoServerError, ObjectId } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import { MongoDBService, mongoEvents, transaction } from '../../../src/adapter/index.ts'
import type { BusEvent, BusReceiver, HookContext } from '../../../src/core/index.ts'
import { createApp } from '../../../src/core/index.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { replaceMethods } from '../../support/replaced-methods.ts'
import { until } from '../../support/until.ts'

const { db, empty } = await openDatabase(t)

t.beforeEach(async () => {
  await empty('events')
})

/** One process: what it has received, and its bus. */
class Process extends EventEmitter implements BusReceiver {
  readonly received: BusEvent[] = []
  readonly positions: string[] = []
  readonly described: HookContext[] = []
  losses = 0
  hasServices = true
  readonly bus

  constructor(collection: Collection | object = db.collection('events'), options = {}) {
    super()
    this.bus = mongoEvents({ collection: collection as Collection, pollMs: 5, ...options })
  }

  /** When each event was stored, by its position. */
  readonly times = new Map<string, number | undefined>()

  receive(event: BusEvent, position: string, storedAt?: number): void {
    this.received.push(event)
    this.positions.push(position)
    this.times.set(position, storedAt)
    this.emit('received')
  }

  confirm(_path: string, position: string, storedAt: number): void {
    this.times.set(position, storedAt)
    this.emit('received')
  }

  lose(): void {
    this.losses += 1
    this.emit('received')
  }

  /** Of the calls of its own application alone, as the hub of one does. */
  async describe(context: HookContext): Promise<readonly BusEvent[]> {
    if (!this.hasServices) return []
    this.described.push(context)
    const { _id: id } = context.result as Document
    return [{ path: context.path, name: context.event ?? '', id, place: 'db.notes' }]
  }

  get ids(): unknown[] {
    return this.received.map(({ id }) => id)
  }

  async until(isReached: () => boolean): Promise<void> {
    while (!isReached()) await once(this, 'received')
  }
}

async function open(t: Test, process = new Process()): Promise<Process> {
  await process.bus.open(process)
  t.teardown(() => process.bus.close())
  return process
}

function toEvent(id: unknown, record?: object): BusEvent {
  return { path: 'notes', name: 'created', id, place: 'db.notes', ...(record ? { record } : {}) }
}

t.test('an event reaches all processes, once, by the same position', async (t) => {
  const one = await open(t)
  const other = await open(t)
  one.bus.publish(toEvent(1))
  t.strictSame(one.ids, [1], 'its own process at once')
  await other.until(() => other.ids.length === 1)
  other.bus.publish(toEvent(2))
  one.bus.publish(toEvent(3))
  await one.until(() => one.ids.length === 3)
  await other.until(() => other.ids.length === 3)
  one.bus.publish(toEvent(4))
  await other.until(() => other.ids.includes(4))
  for (const process of [one, other]) {
    t.strictSame([...process.ids].sort(), [1, 2, 3, 4])
    t.equal(new Set(process.positions).size, 4)
  }
  t.strictSame([...one.positions].sort(), [...other.positions].sort())
})

t.test('an event has the time of the server, in its own process once it is stored', async (t) => {
  const [one, other] = [await open(t), await open(t)]
  one.bus.publish(toEvent(1))
  t.strictSame([...one.times.values()], [undefined])
  for (const id of [2, 3]) one.bus.publish(toEvent(id))
  await other.until(() => other.ids.length === 3)
  await one.until(() => [...one.times.values()].every((time) => time !== undefined))
  const stored = await db.collection('events').find().toArray()
  for (const { _id, at } of stored) t.equal(one.times.get(String(_id)), at.getTime())
  t.strictSame(new Map([...other.times].sort()), new Map([...one.times].sort()))
})

t.test('an event keeps its types, and a record whatever names it has', async (t) => {
  const [one, other] = [await open(t), await open(t)]
  const id = new ObjectId()
  const record = { _id: id, 'a.b': 1, $c: new Date(5), d: { $set: { e: null } } }
  one.bus.publish({ ...toEvent(id, record), name: 'removed' })
  await other.until(() => other.ids.length === 1)
  t.strictSame(other.received, [{ ...toEvent(id, record), name: 'removed' }])
})

t.test('a process that starts gets what is kept', async (t) => {
  const one = await open(t)
  for (const id of [1, 2, 3]) one.bus.publish(toEvent(id))
  const witness = await open(t)
  await witness.until(() => witness.ids.length === 3)
  const late = await open(t)
  t.strictSame(late.ids, [1, 2, 3])
})

t.test('events are forgotten by an index', async (t) => {
  await open(t, new Process(await empty('kept'), { keepMs: 60_000 }))
  const indexes = await db.collection('kept').listIndexes().toArray()
  t.match(
    indexes.find(({ key }) => key.at === 1),
    { expireAfterSeconds: 60 },
  )
})

t.test('events of a transaction are written in it', async (t) => {
  const [one, other] = [await open(t), await open(t)]
  other.hasServices = false
  const notes = await empty('notes')
  const app = createApp().use('notes', new MongoDBService({ Model: notes }))
  const create = async (n: number) => (await app.service('notes').create({ n })) as Document
  const { _id } = await transaction(app, () => create(1))
  await other.until(() => other.ids.length === 1)
  await one.until(() => one.ids.length === 1)
  t.equal(String(other.ids[0]), String(_id))
  const failed = transaction(app, async () => {
    await create(2)
    throw new Error('no')
  })
  await t.rejects(failed, { message: 'no' })
  await transaction(app, () => create(3))
  await other.until(() => other.ids.length === 2)
  const [, third] = await notes.find().toArray()
  t.equal(String(other.ids[1]), String(third?._id), 'and none of the one that was aborted')
  t.equal(await db.collection('events').countDocuments(), 2)
})

t.test('no outbox is left where the bus is closed', async (t) => {
  const one = new Process()
  await one.bus.open(one)
  await one.bus.close()
  const app = createApp().use('notes', new MongoDBService({ Model: await empty('notes') }))
  await transaction(app, async () => app.service('notes').create({ n: 1 }))
  t.strictSame(one.described, [])
})

t.test('what is published before the bus opens is written then, as is what follows', async (t) => {
  const other = await open(t)
  const one = new Process()
  one.bus.publish(toEvent(1))
  await open(t, one)
  one.bus.publish(toEvent(2))
  await other.until(() => other.ids.length === 2)
  t.strictSame(other.ids, [1, 2])
})

t.test('events are kept for another time from the next start on', async (t) => {
  await open(t, new Process(await empty('kept'), { keepMs: 60_000 }))
  await open(t, new Process(db.collection('kept'), { keepMs: 90_000 }))
  const indexes = await db.collection('kept').listIndexes().toArray()
  t.match(
    indexes.find(({ key }) => key.at === 1),
    { expireAfterSeconds: 90 },
  )
})

t.test('a record that no event can carry stops no other event', async (t) => {
  const [one, other] = [await open(t), await open(t)]
  const tooLong = { text: 'x'.repeat(16 * 2 ** 20) }
  one.bus.publish({ ...toEvent(1, tooLong), name: 'removed' })
  one.bus.publish({ ...toEvent(2, tooLong), name: 'rung' })
  one.bus.publish({ ...toEvent(3, { 'a\0b': 1 }), name: 'rung' })
  one.bus.publish(toEvent(4))
  await other.until(() => other.ids.includes(4))
  t.strictSame(
    other.received.map(({ name, id, record }) => ({ name, id, record })),
    [
      { name: 'removed', id: 1, record: undefined },
      { name: 'changed', id: null, record: undefined },
      { name: 'changed', id: null, record: undefined },
      { name: 'created', id: 4, record: undefined },
    ],
  )
})

/** Returns the collection of events, with other methods in place of some. */
function withMethods(methods: object): object {
  return replaceMethods(db.collection('events'), methods)
}

t.test('what can not be written is written later', async (t) => {
  const other = await open(t)
  let failures = 3
  const bulkWrite: Collection['bulkWrite'] = async (...operations) => {
    failures -= 1
    if (failures >= 0) throw new Error('away')
    return db.collection('events').bulkWrite(...operations)
  }
  const one = await open(t, new Process(withMethods({ bulkWrite })))
  one.bus.publish(toEvent(1))
  one.bus.publish(toEvent(2))
  await other.until(() => other.ids.length === 2)
  t.strictSame(other.ids, [1, 2])
  t.equal(other.losses, 0)
})

/** Opens a process whose database is away until `comeBack` is called. */
async function openAway(t: Test) {
  let isAway = true
  const bulkWrite: Collection['bulkWrite'] = async (...operations) => {
    if (isAway) throw new Error('away')
    return db.collection('events').bulkWrite(...operations)
  }
  const process = await open(t, new Process(withMethods({ bulkWrite })))
  const comeBack = (): void => {
    isAway = false
  }
  return { process, comeBack }
}

t.test('of too many that can not be written all streams are told', async (t) => {
  const other = await open(t)
  const { process: one, comeBack } = await openAway(t)
  for (let id = 0; id <= 10_000; id += 1) one.bus.publish(toEvent(id))
  await until(() => isRefusing(one))
  comeBack()
  await other.until(() => other.losses === 1)
  t.strictSame(other.ids, [])
})

t.test('of too many bytes all streams are told, and later events are written', async (t) => {
  const other = await open(t)
  const { process: one, comeBack } = await openAway(t)
  const record = { text: 'x'.repeat(14 * 2 ** 20) }
  for (let id = 0; id < 5; id += 1) one.bus.publish({ ...toEvent(id), record })
  await until(() => isRefusing(one))
  comeBack()
  await other.until(() => other.losses === 1)
  one.bus.publish(toEvent(5))
  await other.until(() => other.ids.length === 1)
  t.strictSame(other.ids, [5])
})

t.test('of too many while some are being written all streams are told as well', async (t) => {
  const other = await open(t)
  const gate = new Gate()
  const bulkWrite: Collection['bulkWrite'] = async (...operations) => {
    await gate.pass()
    return db.collection('events').bulkWrite(...operations)
  }
  const one = await open(t, new Process(withMethods({ bulkWrite })))
  for (let id = 0; id <= 10_001; id += 1) one.bus.publish(toEvent(id))
  gate.open()
  await other.until(() => other.losses === 1 && other.ids.includes(10_001))
  t.notOk(other.ids.includes(10_000), 'in the place of this one')
})

t.test('a change stream that is being opened when the bus is closed is closed too', async (t) => {
  const gate = new Gate()
  let isClosed = false
  const close = async (): Promise<void> => {
    isClosed = true
  }
  const watch = () => ({ tryNext: () => gate.pass(null), close })
  const one = new Process(withMethods({ watch }))
  const opening = one.bus.open(one)
  await until(() => gate.arrived === 1)
  await one.bus.close()
  gate.open()
  await opening
  t.ok(isClosed)
})

t.test('while events can not be read the bus says so, and makes up for them', async (t) => {
  const one = await open(t)
  let isAway = false
  const find = (...given: []) => {
    if (isAway) throw new Error('away')
    return db.collection('events').find(...given)
  }
  const refusal = new MongoServerError({ message: 'no change streams here', code: 40573 })
  const watch = () => ({ tryNext: () => Promise.reject(refusal), close: async () => undefined })
  const other = await open(t, new Process(withMethods({ find, watch })))
  await other.bus.check()
  isAway = true
  one.bus.publish(toEvent(1))
  await until(() => isRefusing(other))
  isAway = false
  await other.until(() => other.ids.length === 1)
  await until(async () => !(await isRefusing(other)))
  t.strictSame(other.ids, [1])
})

/** Whether a process says that events do not reach it, or that its own do not reach others. */
async function isRefusing({ bus }: Process): Promise<boolean> {
  return bus.check().then(
    () => false,
    ({ code }) => code === 503,
  )
}

t.test('options that are not known are refused', async (t) => {
  const collection = db.collection('events')
  t.throws(() => mongoEvents({ collection, keepMS: 5 } as never), /unknown option 'keepMS'/)
  t.throws(
    () => mongoEvents({ collection: db } as never),
    /'collection' must be a MongoDB collection/,
  )
  t.throws(() => mongoEvents({ collection, pollMs: 0 }), /'pollMs' must be a whole number from 1/)
  t.throws(() => mongoEvents({ collection, keepMs: 10 }), /'keepMs' must not be less than/)
})

import t from 'tap'
import type { Turn } from '../../src/auth/work-queue.ts'
import { WorkQueue } from '../../src/auth/work-queue.ts'
import { Gate } from '../support/gate.ts'
import { growthOf, LINEAR_GROWTH } from '../support/growth.ts'

const REFUSED = { name: 'Unavailable', code: 503, data: { retryAfter: 1 } }

/** A queue that computes one task at a time, whose first one waits at a gate. */
function start(maxQueued = 50) {
  const queue = new WorkQueue(1, maxQueued)
  const gate = new Gate()
  const order: string[] = []
  const refused: string[] = []
  const tasks = [queue.run(() => gate.pass())]
  /** Asks for a task with this name. */
  const ask = (name: string, turn: Turn = {}) => {
    const task = queue.run(async () => void order.push(name), turn)
    tasks.push(
      task.catch((error: unknown) => {
        refused.push(name)
        t.match(error, REFUSED)
      }),
    )
  }
  /** Lets all of them go on, and resolves to the order in which they were computed. */
  const finish = async () => {
    gate.open()
    await Promise.all(tasks)
    t.equal(queue.size, 0, 'nothing is kept')
    return order.join(' ')
  }
  return { queue, ask, refused, finish }
}

t.test('callers take turns, however many tasks each has', async (t) => {
  const { ask, finish } = start()
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) ask(name, { caller: name.slice(0, 1) })
  ask('none1')
  ask('none2')
  ask('patient1', { isPatient: true })
  ask('patient2', { isPatient: true })
  t.equal(await finish(), 'a1 b1 c1 none1 patient1 a2 b2 none2 patient2 a3')
})

t.test('urgent tasks come first, but for every fifth', async (t) => {
  const { ask, finish } = start()
  for (const name of ['a1', 'b1', 'a2']) ask(name, { caller: name.slice(0, 1) })
  for (let index = 1; index <= 6; index += 1) {
    ask(`A${index}`, { caller: 'a', isUrgent: true })
    ask(`C${index}`, { caller: 'c', isUrgent: true })
  }
  const order = await finish()
  t.equal(order, 'A1 C1 A2 C2 b1 A3 C3 A4 C4 a1 C5 A5 C6 A6 a2')
})

t.test('who floods the queue is refused, and nobody else (RES-11)', async (t) => {
  const { ask, refused, finish } = start(10)
  for (let index = 1; index <= 12; index += 1) ask(`a${index}`, { caller: 'a' })
  for (const caller of ['b', 'c', 'd']) {
    ask(`${caller}1`, { caller })
    ask(`${caller.toUpperCase()}1`, { caller, isUrgent: true })
  }
  const order = await finish()
  t.strictSame(refused.sort(), ['a10', 'a11', 'a12', 'a5', 'a6', 'a7', 'a8', 'a9'])
  t.equal(order, 'B1 C1 D1 a1 b1 c1 d1 a2 a3 a4')
})

t.test('an urgent task takes the place of one that is not (RES-11)', async (t) => {
  const { ask, refused, finish } = start(3)
  for (const caller of ['a', 'b', 'c']) ask(`${caller}1`, { caller })
  ask('d1', { caller: 'd' })
  ask('E1', { caller: 'e', isUrgent: true })
  ask('F1', { caller: 'f', isUrgent: true })
  // Two of its own are more than others have.
  ask('F2', { caller: 'f', isUrgent: true })
  ask('F3', { caller: 'f', isUrgent: true })
  ask('g1', { caller: 'g' })
  t.equal(await finish(), 'E1 F1 F2')
  t.strictSame(refused.sort(), ['F3', 'a1', 'b1', 'c1', 'd1', 'g1'])
})

t.test('patient tasks wait beyond the limit, and lose to nobody', async (t) => {
  const { ask, refused, finish } = start(2)
  for (let index = 1; index <= 5; index += 1) ask(`p${index}`, { caller: 'a', isPatient: true })
  for (let index = 1; index <= 3; index += 1) ask(`a${index}`, { caller: 'a' })
  ask('A1', { caller: 'a', isUrgent: true })
  t.equal(await finish(), 'A1 p1 a1 p2 p3 p4 p5')
  t.strictSame(refused.sort(), ['a2', 'a3'])
})

t.test('what is ended by its signal leaves its place to others (RES-11)', async (t) => {
  const { queue, ask, refused, finish } = start(2)
  const controllers = [new AbortController(), new AbortController()]
  const ended = controllers.map(({ signal }) =>
    queue.run(() => Promise.resolve(t.fail('it was ended')), { caller: 'a', signal }),
  )
  for (const controller of controllers) controller.abort(new Error('gone'))
  for (const one of ended) await t.rejects(one, { message: 'gone' })
  const { signal } = controllers[0] as AbortController
  await t.rejects(
    queue.run(async () => undefined, { signal }),
    { message: 'gone' },
  )
  ask('b1')
  ask('b2')
  t.equal(await finish(), 'b1 b2')
  t.strictSame(refused, [])
})

t.test('a full queue costs each who asks as much as it is long, no more (RES-11)', async (t) => {
  const growth = await growthOf((size) => {
    const queue = new WorkQueue(1, size)
    const never = new Promise<never>(() => undefined)
    const ask = (caller: string, isUrgent = false) =>
      void queue.run(() => never, { caller, isUrgent }).catch(() => undefined)
    for (let index = 0; index <= size; index += 1) ask(`caller ${index % 7}`)
    return () => {
      for (let index = 0; index < 20; index += 1) ask('another', true)
    }
  }, 500)
  t.ok(growth < LINEAR_GROWTH, `${growth.toFixed(1)} times as long for 16 times as many`)
})

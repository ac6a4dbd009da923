import { until } from '../../support/until.ts'
import { outcomeOf } from '../outcome-of.ts'
import type { Cases, Cell } from './cell.ts'
import type { SharedRemote } from './clients.ts'
import { sameNamed } from './named-keys.ts'

const EVENTS = ['created', 'updated', 'patched', 'removed']

/** Writes down the events of a service with the texts of their records. */
function listen(todos: SharedRemote): string[] {
  const events: string[] = []
  for (const event of EVENTS) {
    todos.on(event, (record) =>
      events.push(`${event} ${(record as { text: string } | null)?.text}`),
    )
  }
  return events
}

/** Which events and hooks the application of the client has. */
export function testEvents(t: Cases, { createApp, service }: Cell): void {
  t.test('each change is an event of the client, with its record', async (t) => {
    const todos = service('todos')
    const events = listen(todos)
    const { id } = (await todos.create({ text: 'a' })) as { id: number }
    await todos.update(id, { text: 'b' })
    await todos.patch(id, { text: 'c' })
    await todos.remove(id)
    await until(() => events.length >= 4)
    t.strictSame(events, ['created a', 'updated b', 'patched c', 'removed c'])
  })

  t.test('many records are as many events', async (t) => {
    const todos = service('todos')
    const events = listen(todos)
    await todos.create([{ text: 'a' }, { text: 'b' }])
    await todos.remove(null, { query: { text: { $in: ['a', 'b'] } } })
    await until(() => events.length >= 4)
    t.strictSame(events, ['created a', 'created b', 'removed a', 'removed b'])
  })

  t.test('reads, custom methods and calls that fail are none', async (t) => {
    const todos = service('todos')
    const events = listen(todos)
    await todos.find()
    await todos.get(0)
    await todos.customMethod?.({})
    for (const call of [() => todos.patch(99, {}), () => todos.remove(99)]) {
      sameNamed(t, await outcomeOf(call), { error: { name: 'NotFound' } })
    }
    const { id } = (await todos.create({ text: 'a' })) as { id: number }
    await todos.remove(id)
    await until(() => events.length >= 2)
    t.strictSame(events, ['created a', 'removed a'], 'those of later calls')
  })

  t.test('hooks of the client are around every call, see its result or its error', async (t) => {
    const app = createApp()
    const seen: unknown[] = []
    app.hooks({
      before: {
        all: [({ path, method }: Record<string, string>) => void seen.push(`${path} ${method}`)],
      },
      after: { all: [({ result }: { result: { id: unknown } }) => void seen.push(result.id)] },
      error: { all: [({ error }: { error: Error }) => void seen.push(error.name)] },
    })
    await app.service('todos').get(0)
    await outcomeOf(() => app.service('todos').get(99))
    await app.service('rooms/:userId/echo').get('7', { route: { userId: '1' } })
    t.strictSame(seen, [
      ...['todos get', 0, 'todos get', 'NotFound', 'rooms/:userId/echo get', '7'],
    ])
  })
}

import fc from 'fast-check'
import t from 'tap'
import type { LiveList } from '../../../src/client/realtime/index.ts'
import type { ServedStream } from '../../support/event-server.ts'
import { startEventServer } from '../../support/event-server.ts'
import { laterTurns, until } from '../../support/until.ts'
import { connect } from './live-client.ts'

interface Task {
  readonly id: number
  readonly rank: number
  readonly done: boolean
}

type Write = Task & { readonly kind: 'put' | 'remove' | 'lose' | 'pause' }

const LIMIT = 3

const writes: fc.Arbitrary<Write[]> = fc.array(
  fc.record({
    kind: fc.constantFrom('put', 'put', 'put', 'remove', 'lose', 'pause'),
    id: fc.nat(7),
    rank: fc.nat(5),
    done: fc.boolean(),
  }) as fc.Arbitrary<Write>,
  { maxLength: 40 },
)

/** The records of a server, and what it has told the one client that follows those not done. */
class TaskTable {
  readonly tasks = new Map<number, Task>()
  readonly #sent = new Set<number>()

  /** Returns what `find` answers: the first of those that are not done, by rank and id. */
  find(): { readonly total: number; readonly limit: number; readonly data: Task[] } {
    const found = [...this.tasks.values()].filter(({ done }) => !done)
    found.sort((one, other) => one.rank - other.rank || one.id - other.id)
    const data = found.slice(0, LIMIT)
    for (const { id } of data) this.#sent.add(id)
    return { total: found.length, limit: LIMIT, data }
  }

  write({ kind, ...task }: Write, stream: ServedStream): void {
    const { id } = task
    const before = this.tasks.get(id)
    if (kind === 'remove') {
      this.tasks.delete(id)
      if (before?.done === false) stream.send('removed', before)
      return
    }
    this.tasks.set(id, task)
    if (!task.done) {
      this.#sent.add(id)
      stream.send(before === undefined ? 'created' : 'patched', task)
    } else if (this.#sent.delete(id)) {
      stream.send('left', { id })
    }
  }
}

t.test('a list is what find answers, whatever is written', async (t) => {
  let table = new TaskTable()
  const server = await startEventServer(t, (_request, response) =>
    response.end(JSON.stringify(table.find())),
  )
  const client = connect(t, server.url)
  const query = { done: false, $sort: { rank: 1, id: 1 }, $limit: LIMIT }
  let count = 0
  const openNext = async (): Promise<ServedStream> => {
    const stream = await server.stream(count)
    count += 1
    return stream.open(table.find())
  }
  await fc.assert(
    fc.asyncProperty(writes, async (all) => {
      table = new TaskTable()
      const opening = client.service('tasks').live({ query })
      let stream = await openNext()
      const list: LiveList = await opening
      for (const write of all) {
        if (write.kind === 'pause') await laterTurns(write.rank)
        else if (write.kind === 'lose') {
          stream.destroy()
          stream = await openNext()
        } else table.write(write, stream)
      }
      const expected = JSON.stringify(table.find().data)
      await until(() => JSON.stringify(list.data) === expected)
      // It stays so.
      await laterTurns()
      t.equal(JSON.stringify(list.data), expected)
      list.close()
      await until(() => stream.isClosed)
    }),
    { numRuns: 60 },
  )
})

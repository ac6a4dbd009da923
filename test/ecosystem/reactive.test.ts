import type { ReactiveService } from '@feathersjs/feathers'
import { MemoryService } from '@feathersjs/memory'
import { rx } from 'feathers-reactive'
import t from 'tap'
import { MongoDBService } from '../../src/adapter/index.ts'
import { createClient } from '../../src/client/index.ts'
import type { AnyService } from '../../src/transport/index.ts'
import { rest } from '../../src/transport/index.ts'
import { openDatabase } from '../support/database.ts'
import { openApp } from '../support/own-server.ts'
import { until } from '../support/until.ts'

/** What the package adds to services. */
interface Watched {
  watch(): ReactiveService<AnyService>
}

const database = await openDatabase(t)

/** A listening server with notes in the database. */
async function start(): Promise<{ words: AnyService; baseURL: string }> {
  const app = openApp(t)
    .configure(rest())
    .configure(rx({ idField: '_id' }))
  app.use('notes', new MongoDBService({ Model: await database.empty('notes') }))
  app.use('words', new MemoryService({ id: '_id' }))
  const { port } = (await app.listen()).address() as { port: number }
  return { words: app.service('words'), baseURL: `http://127.0.0.1:${port}` }
}

t.test('feathers-reactive: lists follow the events of a service, and of a client', async (t) => {
  const { words, baseURL } = await start()
  const client = createClient({ baseURL })
  // The members that @feathersjs/authentication-client declares are those of another class here.
  client.configure(rx({ idField: '_id' }) as () => void)
  for (const service of [words, client.service('notes') as AnyService]) {
    await database.empty('notes')
    const lists: unknown[] = []
    const notes = (service as unknown as Watched).watch().find()
    const subscription = notes.subscribe((list: unknown) => lists.push(list))
    await until(() => lists.length >= 1)
    const { _id } = (await service.create({ text: 'a' })) as { _id: string }
    await service.patch(_id, { text: 'b' })
    await service.remove(_id)
    await until(() => lists.length >= 4)
    t.match(lists, [[], [{ text: 'a' }], [{ text: 'b' }], []])
    subscription.unsubscribe()
  }
})

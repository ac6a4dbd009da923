import type { Document } from 'mongodb'
import type { MongoDBOptions } from '../../src/adapter/index.ts'
import { MongoDBService } from '../../src/adapter/index.ts'
import type {
  AnyService,
  AnyServices,
  Hook,
  HookOptions,
  ServiceOptions,
} from '../../src/core/index.ts'
import type { RealtimeOptions } from '../../src/transport/realtime/index.ts'
import { realtime } from '../../src/transport/realtime/index.ts'
import type { Answer, TestScope } from './http.ts'
import { startOwnServer } from './own-server.ts'

/** Makes a user of the header `user`, which has an id. */
const logIn: Hook = ({ params }) => {
  const _id = params.headers?.['user']
  if (_id !== undefined) params.user = { _id } as never
}

interface RecordServerOptions {
  readonly hooks: HookOptions<AnyService>
  readonly adapter: MongoDBOptions
  readonly service?: ServiceOptions
  readonly realtime?: RealtimeOptions
  /** Other services by their paths. */
  readonly others?: AnyServices
}

/**
 * A server whose service `notes` has some hooks. The header `user` has the id of the caller. `send` asks it by
 * HTTP, and `events` are the names of the events with the ids of their records.
 */
export async function startRecords(t: TestScope, options: RecordServerOptions) {
  const { hooks, adapter, service, others = {} } = options
  const events: string[] = []
  const server = await startOwnServer(t, (app) => {
    app.configure(realtime(options.realtime))
    app.hooks({ before: { all: [logIn] } })
    app.use('notes', new MongoDBService(adapter), service)
    for (const [path, other] of Object.entries(others)) app.use(path, other)
    app.service('notes').hooks(hooks)
    for (const name of ['created', 'updated', 'patched', 'removed', 'changed']) {
      app.service('notes').on(name, () => events.push(name))
    }
  })
  const notes = server.app.service('notes')
  const send = (method: string, path = '', data?: object, user?: string): Promise<Answer> =>
    server.request(`/notes${path}`, {
      method,
      ...(data === undefined ? {} : { data }),
      ...(user === undefined ? {} : { headers: { user } }),
    })
  const bodyOf = async (sent: Promise<Answer>) => (await sent).body as Document
  const { app, url } = server
  return { app, url, notes, events, send, bodyOf }
}

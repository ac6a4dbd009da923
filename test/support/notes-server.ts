import type { Collection, Document, MongoClient, MongoClientOptions } from 'mongodb'
import { connectMongoDB, MongoDBService } from '../../src/adapter/index.ts'
import type { ListeningServer, TestScope } from './http.ts'
import type { OwnServerOptions } from './own-server.ts'
import { startOwnServer } from './own-server.ts'

interface NotesServer {
  readonly client: MongoClient
  readonly stored: Collection<Document>
  readonly server: ListeningServer
}

/** Opens an application whose service `notes` has a collection of the same name behind a URL. */
export async function startNotes(
  t: TestScope,
  url: string,
  clientOptions: Omit<MongoClientOptions, 'timeoutMS'> = {},
  serverOptions: OwnServerOptions = {},
): Promise<NotesServer> {
  const client = await connectMongoDB(url, clientOptions)
  t.teardown(() => client.close())
  const stored = client.db('a').collection('notes')
  const service = new MongoDBService({ Model: stored, multi: true, allowEmptyFilter: true })
  const server = await startOwnServer(t, (app) => app.use('notes', service), serverOptions)
  return { client, stored, server }
}

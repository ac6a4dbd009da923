import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { createApp, openapiDocument } from '../../../src/transport/index.ts'
import { idleCollection } from '../../support/idle-collection.ts'

interface Operation {
  readonly responses: { readonly 200: { readonly content: object } }
}

t.test(
  'find of a service with streams has their media types, and no other operation',
  async (t) => {
    const app = createApp()
    app.use('notes', new MongoDBService({ Model: idleCollection, limits: { stream: 10 } }))
    app.use('tasks', new MongoDBService({ Model: idleCollection }))
    const document = await openapiDocument(app, { info: { title: 'Notes', version: '1' } })
    const paths = document.paths as Record<string, Record<string, Operation>>
    const typesOf = (path: string): string[] =>
      Object.keys(paths[path]?.['get']?.responses[200].content ?? {})
    t.strictSame(typesOf('/notes'), ['application/json', 'application/x-ndjson', 'text/csv'])
    t.strictSame(typesOf('/notes/{id}'), ['application/json'])
    t.strictSame(typesOf('/tasks'), ['application/json'])
  },
)

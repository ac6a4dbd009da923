import t from 'tap'
import { querySyntax, Type } from '../../src/core/schema/index.ts'
import type { Application, OpenApiDocument } from '../../src/transport/index.ts'
import { openapi } from '../../src/transport/index.ts'
import { MODES, startServer } from '../support/http.ts'

const Note = Type.Object({ id: Type.Integer(), text: Type.String() })

const stored = { id: 1, text: 'a', secret: 'hash' }

/** Answers in envelopes, one of which looks like a page. */
const notes = {
  options: { paginate: { default: 5 } },
  find: async () => ({ total: 1, data: [stored], next: '/notes?$skip=1', secret: 'hash' }),
  get: async () => ({ note: stored, links: { self: '/notes/1', secret: 'hash' } }),
  create: async () => stored,
}

function addNotes(app: Application): void {
  app.use('notes', notes, {
    schemas: {
      entity: Note,
      create: true,
      methods: {
        find: {
          query: Type.Object({ page: Type.Optional(Type.Integer()) }),
          result: Type.Object({
            total: Type.Integer(),
            data: Type.Array(Note),
            next: Type.String(),
          }),
        },
        get: {
          query: querySyntax(Note),
          result: Type.Object({ note: Note, links: Type.Object({ self: Type.String() }) }),
        },
      },
    },
  })
  app.configure(openapi({ info: { title: 'Notes', version: '1.0.0' } }))
}

for (const mode of MODES) {
  t.test(`${mode}: a method has an answer and a query of its own`, async (t) => {
    const server = await startServer(t, mode, { services: addNotes })
    const load = async (path: string): Promise<unknown> => {
      const { status, body } = await server.request(path)
      return status === 200 ? body : status
    }
    const note = { id: 1, text: 'a' }
    const page = { total: 1, data: [note], next: '/notes?$skip=1' }
    t.strictSame(await load('/notes?page=2'), page)
    t.equal(await load('/notes?text=a'), 400, 'the query of the others is not that of find')
    t.strictSame(await load('/notes/1?text=a'), { note, links: { self: '/notes/1' } })
    const created = await server.request('/notes', { method: 'POST', data: {} })
    t.strictSame(created.body, note, 'the others are as they were')
  })

  t.test(`${mode}: the document has both`, async (t) => {
    const server = await startServer(t, mode, { services: addNotes })
    const { paths, components } = (await server.request('/docs/json')).body as OpenApiDocument
    const find = paths[`${server.prefix}/notes`]?.['get']
    const $ref = '#/components/schemas/FindNotesResult'
    t.match(find, { responses: { 200: { content: { 'application/json': { schema: { $ref } } } } } })
    t.match(find, { parameters: [{ $ref: '#/components/parameters/Notes.page' }] })
    const { FindNotesResult: all, GetNotesResult: one } = components['schemas'] ?? {}
    t.match(all, { required: ['total', 'data', 'next'] })
    // Of the note in it, callers may select fields.
    t.match(one, { required: ['note', 'links'], properties: { note: { type: 'object' } } })
    t.notMatch(one, { properties: { note: { required: Array } } })
  })
}

// An API page for staff only, with a path for each custom method. Try the lines it prints.
// `npx tsx node_modules/remex/examples/openapi.ts`, after `npm install @fastify/swagger
// @fastify/swagger-ui yaml`. Reads PORT (3030), HOST (127.0.0.1) and STAFF_KEY (`letmein` by default).
import { fileURLToPath } from 'node:url'
import type { OpenApiDocument } from 'remex'
import { createApp, fastifyApp, NotFound, openapi, openapiDocument, rest } from 'remex'
import type { Static } from 'remex/schema'
import { Type } from 'remex/schema'

const Measure = Type.Object(
  {
    id: Type.Integer(),
    city: Type.String({ description: 'Where it was measured' }),
    degrees: Type.Number({ description: 'In degrees Celsius' }),
  },
  { $id: 'Measure' },
)
type Measure = Static<typeof Measure>

const measures = {
  find: async (): Promise<Measure[]> => [{ id: 1, city: 'Bonn', degrees: 21.5 }],
  create: async (data: Omit<Measure, 'id'>): Promise<Measure> => ({ id: 2, ...data }),
  convert: async ({ degrees }: { degrees: number }) => ({ fahrenheit: degrees * 1.8 + 32 }),
}
const jobs = { find: async () => [{ name: 'clean up' }] }

const { STAFF_KEY = 'letmein' } = process.env
const info = { title: 'Measures', version: '1.0.0' }

export const app = fastifyApp(createApp())
app.configure(rest({ methodPaths: true }))
app.use('measures', measures, {
  methods: ['find', 'create', 'convert'],
  schemas: {
    entity: Measure,
    create: Type.Omit(Measure, ['id']),
    methods: {
      convert: {
        data: Type.Object({ degrees: Type.Number() }),
        result: Type.Object({ fahrenheit: Type.Number() }),
      },
    },
  },
})
app.use('jobs', jobs)

app.configure(
  openapi({
    info,
    path: '/reference',
    exclude: ['jobs'],
    transform: (document) => {
      const { get } = document.paths['/measures'] ?? {}
      const find = get as { summary?: string } | undefined
      if (find !== undefined) find.summary = 'Recent measurements'
      return document
    },
  }),
)

// Only callers with the key get the page and the document.
app.use('/reference', (request) => {
  const key = request.headers['x-staff-key']
  if (key !== STAFF_KEY) throw new NotFound('Page not found')
})

/** Resolves to the same document without a server, for example for a file. */
export function writeDocument(): Promise<OpenApiDocument> {
  return openapiDocument(app, { info, methodPaths: true, exclude: ['jobs'] })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { PORT = '3030', HOST = '127.0.0.1' } = process.env
  await app.listen({ port: Number(PORT), host: HOST })
  const url = `http://${HOST}:${PORT}`
  console.log(`Measures at ${url}/measures

  curl ${url}/reference/json -H 'x-staff-key: ${STAFF_KEY}'
  curl ${url}/reference/json # 404
  curl ${url}/measures/convert -H 'content-type: application/json' -d '{"degrees":20}'

Ctrl-C ends it.`)
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void app.close())
}

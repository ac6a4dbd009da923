// Two services with spans for their calls: `npx tsx node_modules/remex/examples/tracing.ts`, after
// `npm install @opentelemetry/api`. The spans go where `instrumentation.mjs` of
// docs/reference/observing.md sends them: `npx tsx --import ./instrumentation.mjs …`. Reads PORT (3030)
// and MONGODB_URL (an embedded server by default), and writes only to `remex_tracing`.
import type { Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import { startEmbeddedMongo } from 'remex/embedded'
import { connectMongoDB, MongoDBService } from 'remex/mongodb'
import { opentelemetry } from 'remex/opentelemetry'

interface Task {
  title: string
}

class ReportService {
  // Calls another service: its span is a child of this one.
  async get(id: string, _params?: Params): Promise<{ heading: string }> {
    const task = await app.service('tasks').get(id)
    return { heading: task.title.toUpperCase() }
  }
}

const url = process.env['MONGODB_URL'] ?? (await startEmbeddedMongo()).url
const client = await connectMongoDB(url)

const app = fastifyApp(createApp<{ tasks: MongoDBService<Task>; reports: ReportService }>())
app.configure(rest())
// Registered before all hooks, so that the spans include them.
app.configure(opentelemetry())
app.use(
  'tasks',
  new MongoDBService({
    Model: client.db('remex_tracing').collection<Task>('tasks'),
    paginate: { default: 10, max: 100 },
  }),
)
app.use('reports', new ReportService())
await app.listen(Number(process.env['PORT'] ?? 3030))
console.log('The tasks are served')

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // The process then ends by itself, which sends the last spans.
  process.once(signal, () => app.close().finally(() => client.close()))
}

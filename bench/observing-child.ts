import { tracingChannel } from 'node:diagnostics_channel'
import type { AddressInfo } from 'node:net'
import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import { createApp, fastifyApp, rest } from 'remex'
import { opentelemetry } from 'remex/opentelemetry'
import { prometheus } from 'remex/prometheus'
import { answerParent } from './child-answers.ts'
import { RecordService } from './rest-remex.ts'

// Runs one server of the benchmark `observing`. They differ in who is told of calls.

/** The servers that are compared, by who observes their calls. */
export type ObservingKind =
  | 'no channel'
  | 'nobody'
  | 'a subscriber'
  | 'prometheus'
  | 'opentelemetry'

/** What an application has, as far as this takes the channel from it. */
interface Supported {
  readonly support?: object
}

async function start(kind: ObservingKind): Promise<number> {
  const app = fastifyApp(createApp(), { logger: false })
  app.configure(rest())
  if (kind === 'no channel') {
    // Not even asked whether somebody observes calls.
    const { support } = app as Supported
    Object.defineProperty(support, 'observe', { value: undefined })
    Object.defineProperty(support, 'isObserved', { value: false })
  }
  if (kind === 'a subscriber') {
    tracingChannel('remex:call').asyncEnd.subscribe(() => undefined)
  }
  if (kind === 'prometheus') app.configure(prometheus())
  if (kind === 'opentelemetry') {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    // Spans are made and ended, and sent nowhere.
    app.configure(opentelemetry({ tracerProvider: new BasicTracerProvider() }))
  }
  app.use('records', new RecordService())
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  return (server.address() as AddressInfo).port
}

await answerParent(async () => ({ records: await start(process.argv[2] as ObservingKind) }))

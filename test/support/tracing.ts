// Loaded by `--import` before a program: prints each span as a line of JSON when it ends.
import { FastifyOtelInstrumentation } from '@fastify/otel'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { MongoDBInstrumentation } from '@opentelemetry/instrumentation-mongodb'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'

/** What is printed of a span. */
export interface PrintedSpan {
  readonly id: string
  /** The id of the span that it is below. */
  readonly parent: string | undefined
  readonly name: string
  /** The package that made it. */
  readonly scope: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number; readonly message?: string }
  readonly events: readonly unknown[]
}

const exporter = {
  export(spans: ReadableSpan[], done: (result: { code: number }) => void): void {
    for (const span of spans) console.log(JSON.stringify(toPrinted(span)))
    done({ code: 0 })
  },
  shutdown: async () => undefined,
}

function toPrinted(span: ReadableSpan): PrintedSpan {
  const { name, attributes, status, events } = span
  return {
    id: span.spanContext().spanId,
    parent: span.parentSpanContext?.spanId,
    scope: span.instrumentationScope.name,
    ...{ name, attributes, status, events },
  }
}

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
)
new FastifyOtelInstrumentation({ registerOnInitialization: true, instrumentHooks: false })
new MongoDBInstrumentation()

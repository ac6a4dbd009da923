/**
 * Spans for calls of services, by OpenTelemetry.
 * @module remex/opentelemetry
 */

import type { Span, TracerProvider } from '@opentelemetry/api'
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { getClassName } from '../../core/errors/service-error.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { AnyApplication, HookContext, NextFunction } from '../../core/index.ts'
import { toServiceError } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import { hasMethod, isObject } from '../../core/value-kind.ts'

/** Options of `opentelemetry()`. */
export interface OpenTelemetryOptions {
  /** Creates the tracer. Default: the provider that the process has registered. */
  readonly tracerProvider?: TracerProvider
}

const RULES: OptionRules = {
  tracerProvider: {
    expected: 'a TracerProvider',
    isValid: (value) => isObject(value) && hasMethod(value, 'getTracer'),
  },
}

/**
 * Creates a span for each call of a service, `tasks/patch`, as a child of the active span, such as that of the request
 * by `@fastify/otel`. Commands of the database become its children. It contains the service, the method and the
 * outcome, but no data. Configure it first, so that it wraps all other hooks: `app.configure(opentelemetry())`.
 * @throws {TypeError} an option is unknown or invalid
 * @see https://opentelemetry.io/docs/specs/semconv/rpc/rpc-spans/
 */
export function opentelemetry(options: OpenTelemetryOptions = {}): (app: AnyApplication) => void {
  const configure = createConfigurator('opentelemetry', options, (app: AnyApplication) => {
    app.hooks({ around: { all: [createSpanHook(options)] } } as never)
  })
  checkOptions('opentelemetry()', options, RULES)
  return configure
}

function createSpanHook({ tracerProvider = trace }: OpenTelemetryOptions) {
  const tracer = (): ReturnType<TracerProvider['getTracer']> => tracerProvider.getTracer('remex')
  const hook = ({ path, method, params }: HookContext, next: NextFunction): Promise<void> => {
    const { provider, requestId } = params
    const name = `${path}/${method}`
    const attributes = {
      ...{ 'rpc.system.name': 'remex', 'rpc.method': name },
      ...(provider === undefined ? {} : { 'remex.provider': provider }),
      ...(requestId === undefined ? {} : { 'remex.request_id': requestId }),
    }
    // The request already has a span of kind SERVER, and backends count those.
    const kind = SpanKind.INTERNAL
    return tracer().startActiveSpan(name, { kind, attributes }, async (span) => {
      try {
        await next()
      } catch (error) {
        recordError(span, error)
        throw error
      } finally {
        span.end()
      }
    })
  }
  return describeFunction(hook, { changesNothing: true })
}

/** A mistake of the caller gets only a status code: only a server error is a failure. */
function recordError(span: Span, error: unknown): void {
  const known = toServiceError(error)
  const name = getClassName(known)
  span.setAttribute('rpc.status_code', name)
  if (known.code < 500) return
  span.setAttribute('error.type', name)
  // Without a description: the message of an error may contain data.
  span.setStatus({ code: SpanStatusCode.ERROR })
}

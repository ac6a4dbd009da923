import { ArgumentError } from '../../core/errors/setup-errors.ts'
/**
 * Metrics for Prometheus.
 * @module remex/prometheus
 */

import type { FastifyInstance } from 'fastify'
import { Gauge, Histogram, Registry } from 'prom-client'
import type { AnyApplication } from '../../core/index.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { OptionRules } from '../../core/options/option-check.ts'
import { checkOptions } from '../../core/options/option-check.ts'
import { hasMethod, isObject } from '../../core/value-kind.ts'
import { findStreams } from '../finds/request-streams.ts'
import { followCalls } from './call-channel.ts'

/** The part of a client of the MongoDB driver that reports its connections. */
export interface PooledClient {
  /** Adds a listener of the driver's pool events. */
  on(event: 'connectionCheckedOut', listener: (event: { durationMS?: number }) => void): unknown
  /** Removes the listener. */
  off(event: 'connectionCheckedOut', listener: (event: { durationMS?: number }) => void): unknown
}

/** Options of `prometheus()`. */
export interface PrometheusOptions {
  /** The path of the metrics. Default: `'/metrics'`. */
  readonly path?: string
  /** The registry for the metrics, which may contain others. Default: a new registry. */
  readonly registry?: Registry
  /** The MongoDB clients whose waits for a connection are measured. Default: none. */
  readonly clients?: readonly PooledClient[]
}

const RULES: OptionRules = {
  path: {
    expected: "a path, '/metrics' for example",
    isValid: (value) => typeof value === 'string' && value.startsWith('/'),
  },
  registry: {
    expected: 'a Registry of prom-client',
    isValid: (value) => isObject(value) && hasMethod(value, 'registerMetric'),
  },
  clients: {
    expected: 'a list of clients of MongoDB',
    isValid: (value) => Array.isArray(value) && value.every((one) => isObject(one)),
  },
}

/**
 * Serves metrics of the process at `/metrics`, in the text format of Prometheus: calls by service, method, provider and
 * outcome with their duration, open streams, and waits for MongoDB connections. Anyone who can reach the server can
 * read them, so restrict the path to your network.
 * @throws {TypeError} an option is unknown or invalid; when configured, the application has no server
 */
export function prometheus(options: PrometheusOptions = {}): (app: AnyApplication) => void {
  const configure = createConfigurator('prometheus', options, (app: ServedApplication) => {
    const { fastify } = app
    if (fastify === undefined) {
      throw new ArgumentError(
        'prometheus(): the application has no server: make one with fastifyApp(app)',
      )
    }
    const { path = '/metrics', registry = new Registry(), clients = [] } = options
    const stops = [countCalls(registry), ...countWaits(registry, clients)]
    new Gauge({
      name: 'remex_open_streams',
      help: 'Streams of live queries that are open',
      registers: [registry],
      collect() {
        this.set(findStreams(app)?.size ?? 0)
      },
    })
    fastify.get(path, { logLevel: 'warn' }, async (_request, reply) => {
      reply.type(registry.contentType)
      return registry.metrics()
    })
    fastify.addHook('onClose', async () => {
      for (const stop of stops) stop()
    })
  })
  checkOptions('prometheus()', options, RULES)
  return configure
}

type ServedApplication = AnyApplication & { readonly fastify?: FastifyInstance }

function countCalls(registry: Registry): () => void {
  const duration = new Histogram({
    name: 'remex_call_duration_seconds',
    help: 'Calls of services, by their outcome',
    labelNames: ['service', 'method', 'provider', 'outcome'],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10],
    registers: [registry],
  })
  return followCalls(({ path: service, method, provider = 'internal', ...call }) => {
    const { outcome = '', durationMs = 0 } = call
    duration.observe({ service, method, provider, outcome }, durationMs / 1_000)
  })
}

function countWaits(registry: Registry, clients: readonly PooledClient[]): (() => void)[] {
  if (clients.length === 0) return []
  const wait = new Histogram({
    name: 'remex_mongodb_pool_wait_seconds',
    help: 'How long commands have waited for a connection of MongoDB',
    buckets: [0.001, 0.01, 0.1, 1],
    registers: [registry],
  })
  const listener = ({ durationMS = 0 }: { durationMS?: number }): void =>
    wait.observe(durationMS / 1_000)
  return clients.map((client) => {
    client.on('connectionCheckedOut', listener)
    return () => void client.off('connectionCheckedOut', listener)
  })
}

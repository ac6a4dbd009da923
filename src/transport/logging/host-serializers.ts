import type { FastifyInstance, RegisterOptions } from 'fastify'
import { redactLogged } from './redact.ts'

type Serializers = NonNullable<RegisterOptions['logSerializers']>

/** Where pino keeps the serializers of a logger; other loggers have none. */
const SERIALIZERS = Symbol.for('pino.serializers')

/**
 * Returns the serializers of the services' routes in a host: of a request they write what the host's
 * own serializer does, without secrets. A plugin can not change the logger of its host.
 * @param given those that the plugin is registered with, which stay as they are
 */
export function toHostSerializers({ log }: FastifyInstance, given: Serializers = {}): Serializers {
  const { req } = (log as { [SERIALIZERS]?: Partial<Serializers> })[SERIALIZERS] ?? {}
  if (req === undefined) return given
  // Fastify declares strings, and its own serializer returns an object.
  return { req: (request: unknown) => redactLogged(req(request)) as string, ...given }
}

import type { FastifyCompressOptions } from '@fastify/compress'
import { createConfigurator } from '../../core/configurator.ts'
import { withDefaults } from '../../core/option-check.ts'
import type { Configurator, ServerPlugin, WithServer } from './server-setup.ts'
import { checkServer } from './server-setup.ts'

/**
 * Compresses answers that are worth it. Answers with `no-store` are sent uncompressed: the size of
 * a compressed answer with a secret and a part of the request gives the secret away (BREACH).
 * Compressed request bodies are refused.
 * @throws {TypeError} when configured, a second time
 * @see https://github.com/fastify/fastify-compress for the options
 */
export function compress(options: FastifyCompressOptions = {}): Configurator {
  const plugin: ServerPlugin = async (server) => {
    // The plugin excepts an answer only by this request header; this hook runs before the plugin's.
    server.addHook('onSend', (request, reply, payload, done) => {
      const isPrivate = String(reply.getHeader('cache-control') ?? '').includes('no-store')
      if (isPrivate) request.headers['x-no-compression'] = 'true'
      done(null, payload)
    })
    const { default: fastifyCompress } = await import('@fastify/compress')
    await server.register(
      fastifyCompress,
      withDefaults<FastifyCompressOptions>({ globalDecompression: false }, options),
    )
  }
  return createConfigurator('compress', options, (app: WithServer) => {
    checkServer(app)
    app.serverSetup.addUniquePlugin('compress', plugin)
  })
}

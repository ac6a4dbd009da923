import type { FastifyCompressOptions } from '@fastify/compress'
import { checkFactoryCall } from '../../core/options/configurator.ts'
import { checkOptionNames, withDefaults } from '../../core/options/option-check.ts'
import type { Configurator, ServerPlugin } from './server-setup.ts'
import { createServerConfigurator } from './server-setup.ts'

/** The options of the plugin. */
const COMPRESS_OPTIONS: readonly (keyof FastifyCompressOptions)[] = [
  ...([
    'global',
    'globalCompression',
    'globalDecompression',
    'threshold',
    'syncThreshold',
  ] as const),
  ...(['encodings', 'requestEncodings', 'forceRequestEncoding', 'customTypes'] as const),
  ...(['zlib', 'zlibOptions', 'brotliOptions', 'inflateIfDeflated'] as const),
  ...(['onUnsupportedEncoding', 'onUnsupportedRequestEncoding'] as const),
  ...(['onInvalidRequestPayload', 'removeContentLengthHeader'] as const),
]

/**
 * Compresses answers that are worth it. Answers with `no-store` are sent uncompressed: the size of
 * a compressed answer with a secret and a part of the request gives the secret away (BREACH).
 * Compressed request bodies are refused.
 * @throws {TypeError} an unknown option; when configured, a second time
 * @see https://github.com/fastify/fastify-compress for the options
 */
export function compress(options: FastifyCompressOptions = {}): Configurator {
  checkFactoryCall('compress', options)
  checkOptionNames('compress()', options, COMPRESS_OPTIONS)
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
  return createServerConfigurator('compress', options, (app) => {
    app.serverSetup.addUniquePlugin('compress', plugin)
  })
}

import type { FastifyRequest } from 'fastify'
import type { MethodEntry } from '../../core/index.ts'
import { hasFunctionsAfter } from '../middleware.ts'
import { toQuality } from '../replies/accept.ts'
import type { StreamType } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'

/**
 * Returns whether a method may respond with streams. Functions after the service and formatters would not see a stream,
 * so with any of them there is none.
 */
export function takesStreams({ entry, name }: MethodEntry, { options }: RestTransport): boolean {
  if (name !== 'find' || entry.options.singleton) return false
  return options.formatter == null && !hasFunctionsAfter(entry)
}

/** Returns the stream that the `Accept` header prefers, also over JSON; `null` if it asks for none. */
export function chooseStream(
  types: readonly StreamType[],
  { headers }: FastifyRequest,
): StreamType | null {
  if (types.length === 0) return null
  const accept = headers.accept?.toLowerCase() ?? ''
  const named = types.filter(({ mediaType }) => accept.includes(mediaType))
  if (named.length === 0) return null
  let best: StreamType | null = null
  let most = toQuality(accept, 'application/json')
  for (const type of named) {
    const quality = toQuality(accept, type.mediaType)
    if (quality > most) [best, most] = [type, quality]
  }
  return best
}

import type { FastifyRequest } from 'fastify'
import type { MethodEntry } from '../../core/index.ts'
import { hasFunctionsAfter } from '../middleware.ts'
import { toQuality } from '../replies/accept.ts'
import type { StreamType } from '../rest-plan.ts'
import type { RestTransport } from '../rest-transport.ts'

/**
 * Whether a method can be answered by streams. Functions behind the service and formatters would not see a stream:
 * where there are any, there is none.
 */
export function takesStreams({ entry, name }: MethodEntry, { options }: RestTransport): boolean {
  if (name !== 'find' || entry.options.singleton) return false
  return options.formatter == null && !hasFunctionsAfter(entry)
}

/** Returns the stream that the `Accept` header wants most, and more than JSON; `null` where it wants none. */
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

import type { ServiceEntry } from '../../core/index.ts'
import { isStreamable } from '../../core/services/record-stream.ts'
import { RECORD_FORMATS } from '../streams/record-formats.ts'
import type { DocumentSchema } from './components.ts'

/** Returns what `find` of a service answers with beside JSON: the media types of its streams. */
export function toStreamContent(
  { service, options }: ServiceEntry,
  method: string,
): Readonly<Record<string, { readonly schema: DocumentSchema }>> {
  if (method !== 'find' || options.singleton || !isStreamable(service)) return {}
  const content = RECORD_FORMATS.map(({ mediaType, description }) => {
    return [mediaType, { schema: { type: 'string', description } }] as const
  })
  return Object.fromEntries(content)
}

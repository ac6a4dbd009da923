import { InvalidQuery } from '../../core/errors/coded-errors.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { Params } from '../../core/index.ts'
import { isStreamable } from '../../core/services/record-stream.ts'
import { takesStreams } from '../finds/request-streams.ts'
import { addVary } from '../replies/headers.ts'
import type { RestFeature, StreamType } from '../rest-plan.ts'
import { RECORD_FORMATS } from './record-formats.ts'
import { sendRecords } from './record-stream.ts'

const RECORD_TYPES: readonly StreamType[] = RECORD_FORMATS.map((format) => ({
  mediaType: format.mediaType,
  open: (call) => sendRecords(call, format),
}))

/**
 * The query parameter of links, since browsers do not send `Accept: text/csv`. No field starts with `$`, so it is not a
 * condition. @see OData 4.01, part 2, §5.1.6
 */
const FORMAT_PARAMETER = '$format'

const FORMAT_NAMES: readonly string[] = RECORD_FORMATS.map(({ name }) => name)

/** Responds to `find` with NDJSON or CSV, if the records of the service can be streamed. */
export const recordStreams: RestFeature = (method, transport) => {
  const { path, service } = method.entry
  if (!('streamRecords' in service) || !takesStreams(method, transport)) return null
  const files = createFileTypes(path)
  return {
    streams: ({ context, reply }) => {
      // The option that allows streams may change.
      if (!isStreamable(service)) return []
      addVary(reply, 'accept')
      const name = takeFormat(context.params)
      return name === undefined ? RECORD_TYPES : (files.get(name) ?? [])
    },
  }
}

/** Returns the streams that a link can name. Browsers save them as files named after the service. */
function createFileTypes(path: string): ReadonlyMap<string, readonly StreamType[]> {
  const literal = path.split('/').findLast((segment) => segment !== '' && !segment.startsWith(':'))
  const baseName = (literal ?? 'records').replace(/[^A-Za-z0-9_-]+/g, '-')
  return new Map(
    RECORD_FORMATS.map((format) => {
      const { name, mediaType } = format
      const open: StreamType['open'] = (call) => sendRecords(call, format, `${baseName}.${name}`)
      return [name, [{ mediaType, isChosen: true, open }]]
    }),
  )
}

/**
 * Returns the format that a query names, and removes it from the params: neither schemas nor the service know it. The
 * query itself stays as it is, since a parser may return it again.
 * @throws {BadRequest} it is none of the formats
 */
function takeFormat(params: Params): string | undefined {
  const { [FORMAT_PARAMETER]: name, ...query } = params.query ?? {}
  if (name === undefined) return undefined
  if (typeof name !== 'string' || !FORMAT_NAMES.includes(name)) {
    throw new InvalidQuery(`${FORMAT_PARAMETER} must be one of ${FORMAT_NAMES.join(', ')}`)
  }
  params.query = query
  return name
}

describeFunction(recordStreams, {
  terms: {
    isFor: ({ method, options, service }) =>
      method === 'find' && !options.singleton && isStreamable(service),
    query: {
      name: FORMAT_PARAMETER,
      description: 'Responds with this format, whatever `Accept` says: for links to a file.',
      schema: { type: 'string', enum: FORMAT_NAMES },
    },
    mediaTypes: Object.fromEntries(
      RECORD_FORMATS.map(({ mediaType, description }) => [mediaType, description]),
    ),
  },
})

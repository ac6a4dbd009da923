import { metadataOf } from '../../core/function-metadata.ts'
import { listEarlyHooks } from '../../core/hooks/hook-registry.ts'
import type { MethodEntry, ServiceEntry } from '../../core/index.ts'
import { findRecordVersions } from '../../core/versions/record-version.ts'
import type { DocumentSchema, Parameter } from './components.ts'

/** What an operation says of conditional requests. */
interface Conditions {
  readonly parameters: readonly Parameter[]
  /** The headers of an answer that went well. */
  readonly headers: Readonly<Record<string, DocumentSchema>>
  /** Answers beside that one. */
  readonly responses: Readonly<Record<number, DocumentSchema>>
  readonly errors: readonly number[]
}

const TAG: DocumentSchema = { type: 'string', examples: ['"v-7"'] }

const IF_MATCH: Parameter = {
  name: 'If-Match',
  in: 'header',
  description: 'The version that the record must have: its `ETag`.',
  schema: TAG,
}

const IF_NONE_MATCH: Parameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of the answer that the caller has.',
  schema: TAG,
}

const NOT_MODIFIED: DocumentSchema = { description: 'The caller has the answer already.' }

/**
 * Returns what the operations of a service say of conditional requests.
 * @param isOne whether the operation answers with one record
 */
export function toConditions(
  { service, options, methods }: ServiceEntry,
  method: string,
  isOne: boolean,
): Conditions {
  const versions = isOne ? findRecordVersions(service) : null
  const isRead = method === 'find' || method === 'get'
  const isTagged = method !== 'remove' && (versions !== null || (isRead && options.etag === true))
  const isChange = versions !== null && !isRead && method !== 'create'
  const isLocated = method === 'create' && isOne && methods.get('get')?.external === true
  return {
    parameters: [...(isTagged && isRead ? [IF_NONE_MATCH] : []), ...(isChange ? [IF_MATCH] : [])],
    headers: {
      ...(isTagged && { ETag: { description: 'Names what is answered.', schema: TAG } }),
      ...(isLocated && {
        Location: { description: 'The path of the record.', schema: { type: 'string' } },
      }),
    },
    responses: isTagged && isRead ? { 304: NOT_MODIFIED } : {},
    errors: isChange ? [412, ...(versions.isRequired ? [428] : [])] : [],
  }
}

/** Returns the headers that hooks around a method read, and the statuses that they refuse calls with. */
export function toHookTerms(
  entry: ServiceEntry,
  { name, spec }: Pick<MethodEntry, 'name' | 'spec'>,
): Pick<Conditions, 'parameters' | 'errors'> {
  const terms = listEarlyHooks(entry, name)
    .flatMap((hook) => metadataOf(hook).terms ?? [])
    .filter(({ onlyWrites }) => !onlyWrites || spec.verb !== 'GET')
  // Of several hooks with one header, any may require it.
  const headers = new Map<string, Parameter>()
  for (const { header } of terms) {
    if (header === undefined || headers.get(header.name)?.required) continue
    headers.set(header.name, { ...header, in: 'header', schema: { type: 'string' } })
  }
  return { parameters: [...headers.values()], errors: terms.flatMap(({ errors }) => errors) }
}

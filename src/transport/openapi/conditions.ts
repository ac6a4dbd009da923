import { metadataOf } from '../../core/function-metadata.ts'
import { listEarlyHooks } from '../../core/hooks/hook-registry.ts'
import type { ServiceEntry } from '../../core/index.ts'
import { findRecordVersions } from '../../core/services/record-version.ts'
import type { DocumentSchema, Parameter } from './components.ts'

/** What an operation says of conditional requests, and of the terms of hooks. */
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
 * Returns what the operations of a service say of conditional requests, and of the terms of hooks.
 * @param isOne whether the operation answers with one record
 */
export function toConditions(entry: ServiceEntry, method: string, isOne: boolean): Conditions {
  const { service, options, methods } = entry
  const versions = isOne ? findRecordVersions(service) : null
  const isRead = method === 'find' || method === 'get'
  const isTagged = method !== 'remove' && (versions !== null || (isRead && options.etag === true))
  const isChange = versions !== null && !isRead && method !== 'create'
  const isLocated = method === 'create' && isOne && methods.get('get')?.external === true
  const terms = listEarlyHooks(entry, method)
    .flatMap((hook) => metadataOf(hook).terms ?? [])
    .filter(({ onlyWrites }) => !(isRead && onlyWrites))
  return {
    parameters: [
      ...(isTagged && isRead ? [IF_NONE_MATCH] : []),
      ...(isChange ? [IF_MATCH] : []),
      ...terms.flatMap(({ header }) => (header === undefined ? [] : [toHeader(header)])),
    ],
    headers: {
      ...(isTagged && { ETag: { description: 'Names what is answered.', schema: TAG } }),
      ...(isLocated && {
        Location: { description: 'The path of the record.', schema: { type: 'string' } },
      }),
    },
    responses: isTagged && isRead ? { 304: NOT_MODIFIED } : {},
    errors: [
      ...(isChange ? [412, ...(versions.isRequired ? [428] : [])] : []),
      ...terms.flatMap(({ errors }) => errors),
    ],
  }
}

function toHeader(header: Pick<Parameter, 'name' | 'description' | 'required'>): Parameter {
  return { ...header, in: 'header', schema: { type: 'string' } }
}

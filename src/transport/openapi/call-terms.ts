import type {
  ByteBody,
  ByteOperation,
  CallTerms,
  DescribedCall,
} from '../../core/function-metadata.ts'
import { listTerms } from '../../core/function-metadata.ts'
import { listEarlyHooks } from '../../core/hooks/hook-registry.ts'
import type { MethodEntry, ServiceEntry } from '../../core/index.ts'
import { REST_FEATURES } from '../rest-features.ts'
import { SCOPE_FEATURES } from '../scope-features.ts'
import type { DocumentSchema, Parameter } from './components.ts'

/** What features of the transport and the hooks around a method add to its operation. */
interface OperationTerms {
  readonly parameters: readonly Parameter[]
  /** The headers of a successful response. */
  readonly headers: Readonly<Record<string, DocumentSchema>>
  /** Other forms of that response in addition to JSON, by media types. */
  readonly content: Readonly<Record<string, DocumentSchema>>
  /** Other responses, by statuses. */
  readonly responses: Readonly<Record<string, DocumentSchema>>
  readonly errors: readonly number[]
  readonly byteBody: ByteBody | undefined
  /** Other operations. */
  readonly added: readonly ByteOperation[]
  /** Whether callers may do without a proof. */
  readonly isOpen: boolean
}

const STRING: DocumentSchema = { type: 'string' }

const FEATURES: readonly object[] = [...REST_FEATURES, ...SCOPE_FEATURES]

/**
 * Returns what features and hooks add to an operation.
 * @param isRecord whether the response of the operation is one record
 * @param features those of its route. Default: all
 */
export function describeCall(
  entry: ServiceEntry,
  { name, spec }: Pick<MethodEntry, 'name' | 'spec'>,
  isRecord: boolean,
  features: readonly object[] = FEATURES,
): OperationTerms {
  const { service, options, methods } = entry
  const hasMethod = (method: string): boolean => methods.get(method)?.external === true
  const call: DescribedCall = { method: name, isRecord, service, options, hasMethod }
  const terms = [...features, ...listEarlyHooks(entry, name)]
    .flatMap(listTerms)
    .filter(
      ({ onlyWrites, isFor }) => !(onlyWrites && spec.verb === 'GET') && isFor?.(call) !== false,
    )
  const bodies = terms.flatMap(({ byteBody }) => byteBody ?? [])
  return {
    parameters: toParameters(terms),
    headers: mergeTerms(
      terms.map(({ answerHeaders }) => answerHeaders),
      ({ description, schema = STRING }) => ({ description, schema }),
    ),
    content: mergeTerms(
      terms.map(({ mediaTypes }) => mediaTypes),
      (description) => ({ schema: { ...STRING, description } }),
    ),
    responses: mergeTerms(
      terms.map(({ answers }) => answers),
      (description) => ({ description }),
    ),
    errors: terms.flatMap(({ errors = [] }) => errors),
    byteBody: bodies.length === 0 ? undefined : Object.assign({}, ...bodies),
    added: terms.flatMap(({ byteOperation }) => byteOperation ?? []),
    isOpen: terms.some((one) => one.isOpen),
  }
}

/** If several read one header, any of them may require it. */
function toParameters(terms: readonly CallTerms[]): readonly Parameter[] {
  const headers = new Map<string, Parameter>()
  for (const { header } of terms) {
    if (header === undefined || headers.get(header.name)?.required) continue
    headers.set(header.name, { ...header, in: 'header', schema: header.schema ?? STRING })
  }
  const queries = terms.flatMap(({ query }): Parameter[] =>
    query === undefined ? [] : [{ ...query, in: 'query', schema: query.schema ?? STRING }],
  )
  return [...headers.values(), ...queries]
}

/** Returns the terms of several functions, each as the document has it. */
export function mergeTerms<Term>(
  all: readonly (Readonly<Record<string, Term>> | undefined)[],
  write: (term: Term) => DocumentSchema,
): Readonly<Record<string, DocumentSchema>> {
  const entries = all.flatMap((terms = {}) => Object.entries(terms))
  return Object.fromEntries(entries.map(([name, term]) => [name, write(term)]))
}

import type { FastifyRequest } from 'fastify'
import { VersionUnsupported } from '../../core/errors/coded-errors.ts'
import type { CallTerms, DescribedCall } from '../../core/function-metadata.ts'
import { describeFunction, metadataOf } from '../../core/function-metadata.ts'
import { listServiceHooks } from '../../core/hooks/hook-registry.ts'
import type { MethodEntry } from '../../core/index.ts'
import { isStandardMethod } from '../../core/index.ts'
import { createUnversionedError, findRecordVersions } from '../../core/versions/record-version.ts'
import type { ExpectedVersion } from '../../core/versions/version-tag.ts'
import { readExpectedVersion } from '../../core/versions/version-tag.ts'
import type { RestFeature } from '../rest-plan.ts'
import { isRead } from '../rest-plan.ts'
import { TAG_SCHEMA } from './entity-tags.ts'

/** Turns the `If-Match` header of a write into `params.version`. */
export const ifMatch: RestFeature = (method) => {
  if (isRead(method)) return null
  return {
    params: ({ request }, params) => {
      const version = readIfMatch(method, request)
      if (version !== undefined) params.version = version
    },
  }
}

const TERMS: readonly CallTerms[] = [
  {
    isFor: (call) => findChangedVersions(call) !== null,
    header: {
      name: 'If-Match',
      in: 'header',
      description: 'The version that the record must have: its `ETag`.',
      schema: TAG_SCHEMA,
    },
    errors: [412],
  },
  { isFor: (call) => findChangedVersions(call)?.isRequired === true, errors: [428] },
]

describeFunction(ifMatch, { terms: TERMS })

/** Returns how the record that a call changes is versioned, `null` if the call changes no versioned record. */
function findChangedVersions({ method, isRecord, service }: DescribedCall) {
  const isChange = method === 'update' || method === 'patch' || method === 'remove'
  return isChange && isRecord ? findRecordVersions(service) : null
}

/**
 * Returns the versions in the `If-Match` header of a write, `undefined` if there is none.
 * @throws {BadRequest} the header is malformed
 * @throws {PreconditionFailed} the call creates a record, which has no version yet, or the service has no versions
 */
function readIfMatch(
  method: MethodEntry,
  { headers }: FastifyRequest,
): ExpectedVersion | undefined {
  const condition = headers['if-match']
  if (condition === undefined) return undefined
  if (method.name === 'create') throw new VersionUnsupported('If-Match is not for new records')
  const expected = readExpectedVersion(condition)
  if (expected === '*' || comparesVersion(method)) return expected
  throw createUnversionedError()
}

/**
 * Returns whether something honours the condition of a write: the service, if it has `recordVersions`, or a hook. A
 * custom method gets it as `params.version`.
 */
function comparesVersion({ name, entry }: MethodEntry): boolean {
  if (!isStandardMethod(name) || 'recordVersions' in entry.service) return true
  return listServiceHooks(entry).some((hook) => metadataOf(hook).comparesVersion)
}

import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ExpectedVersion } from '../../core/entity-tag.ts'
import { isKnownTag, isVersion, readExpectedVersion, toVersionTag } from '../../core/entity-tag.ts'
import { metadataOf } from '../../core/function-metadata.ts'
import { listServiceHooks } from '../../core/hooks/hook-registry.ts'
import type { HookContext, MethodEntry, ServiceError } from '../../core/index.ts'
import { isStandardMethod, PreconditionFailed } from '../../core/index.ts'
import {
  answersRecord,
  createUnversionedError,
  findVersionTag,
} from '../../core/services/record-version.ts'
import { isObject } from '../../core/value-kind.ts'
import { isSentAsJson } from './body.ts'
import type { BodySerializer } from './result-serializer.ts'

const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7E\x80-\xFF]*"$/

/**
 * Sets the entity tag of the answer to a call, where it has one.
 * @throws {TypeError} `context.http.etag` is no entity tag
 */
export function setTag(method: MethodEntry, context: HookContext, reply: FastifyReply): void {
  const tag = findTag(method, context)
  if (tag !== undefined) reply.header('etag', tag)
}

function findTag({ name, entry }: MethodEntry, { http, result }: HookContext): string | undefined {
  const { etag } = http
  if (etag !== undefined) return checkTag(etag)
  const isRecord = answersRecord(name, result, entry.options)
  return isRecord ? findVersionTag(entry.service, result) : undefined
}

function checkTag(tag: string): string {
  if (ENTITY_TAG.test(tag)) return tag
  throw new TypeError('context.http.etag must be an entity tag, in its quotes: "7"')
}

/** Sets the entity tag of the record that a refused write has found. */
export function setCurrentTag(reply: FastifyReply, { code, data }: ServiceError): void {
  const current = isObject(data) ? data['current'] : undefined
  if (code === 412 && isVersion(current)) reply.header('etag', toVersionTag(current))
}

/**
 * Makes the hash of a JSON body the entity tag, or a part of that of its version: one version may look different
 * for each caller. Returns a serializer that has written the body already. Where a hook has set the tag, or the
 * body is no JSON, it stays as it is, and so does the serializer.
 */
export function writeTagged(
  reply: FastifyReply,
  { http }: HookContext,
  body: unknown,
  serialize: BodySerializer | null,
): BodySerializer | null {
  if (http.etag !== undefined || !isObject(body) || !isSentAsJson(reply, body)) return serialize
  const version = reply.getHeader('etag')
  const write = serialize ?? JSON.stringify
  const text = write(body)
  const hash = createHash('sha256').update(text)
  const tag =
    version === undefined
      ? `W/"${hash.digest('base64url')}"`
      : `${String(version).slice(0, -1)}-${hash.digest('hex').slice(0, 16)}"`
  reply.header('etag', tag)
  return (payload) => (payload === body ? text : write(payload))
}

/** Lets callers keep an answer to a request with credentials for themselves, unless it says otherwise. */
export function setRevalidated(reply: FastifyReply, { http }: HookContext): void {
  const names = Object.keys(http.headers ?? {})
  if (names.some((name) => name.toLowerCase() === 'cache-control')) return
  const isPrivate = reply.hasHeader('cache-control')
  reply.header('cache-control', isPrivate ? 'private, no-cache' : 'no-cache')
}

/**
 * Returns the versions that the `If-Match` header of a write names, `undefined` where there is none.
 * @throws {BadRequest} the header is malformed
 * @throws {PreconditionFailed} the call creates a record, which has none yet, or the service has no versions
 */
export function readIfMatch(
  method: MethodEntry,
  { headers }: FastifyRequest,
): ExpectedVersion | undefined {
  const condition = headers['if-match']
  if (condition === undefined) return undefined
  if (method.name === 'create') throw new PreconditionFailed('If-Match is not for new records')
  const expected = readExpectedVersion(condition)
  if (expected === '*' || comparesVersion(method)) return expected
  throw createUnversionedError()
}

/**
 * Whether the condition of a write is heeded: by the service, which says so by its `recordVersions`, or by a hook.
 * A custom method gets it as `params.version`.
 */
function comparesVersion({ name, entry }: MethodEntry): boolean {
  if (!isStandardMethod(name) || 'recordVersions' in entry.service) return true
  return listServiceHooks(entry).some((hook) => metadataOf(hook).comparesVersion)
}

/** Whether the caller of a read has its answer already. */
export function isNotModified({ headers }: FastifyRequest, reply: FastifyReply): boolean {
  const known = headers['if-none-match']
  if (known === undefined || reply.statusCode !== 200) return false
  const tag = reply.getHeader('etag')
  return tag !== undefined && isKnownTag(known, String(tag))
}

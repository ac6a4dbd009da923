import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { HookError } from '../../core/errors/setup-errors.ts'
import type { DescribedCall } from '../../core/function-metadata.ts'
import { describeFunction } from '../../core/function-metadata.ts'
import type { HookContext, MethodEntry } from '../../core/index.ts'
import { isObject } from '../../core/value-kind.ts'
import {
  answersRecord,
  findRecordVersions,
  findVersionTag,
} from '../../core/versions/record-version.ts'
import { isKnownTag, isVersion, toVersionTag } from '../../core/versions/version-tag.ts'
import { discardBody, isSentAsJson } from '../replies/body.ts'
import type { ContextCall, RestFeature } from '../rest-plan.ts'
import { isRead } from '../rest-plan.ts'

const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7E\x80-\xFF]*"$/

/** The schema of an entity tag in descriptions. */
export const TAG_SCHEMA = { type: 'string', examples: ['"v-7"'] } as const

const TAG_HEADER = {
  ETag: { description: 'Identifies the content of the response.', schema: TAG_SCHEMA },
} as const

/** Sets the entity tag that a hook has chosen, or that of the record's version. */
export const versionTag: RestFeature = (method) => {
  // Only a hook can choose a tag. Whether records have versions is an option that may change.
  const mayBeVersioned = 'recordVersions' in method.entry.service
  if (!mayBeVersioned && method.chain === null) return null
  return {
    headers: ({ context, reply }) => {
      const tag = findTag(method, context)
      if (tag !== undefined) reply.header('etag', tag)
    },
  }
}

describeFunction(versionTag, { terms: { isFor: hasVersionTag, answerHeaders: TAG_HEADER } })

/** Sets the entity tag of the record that a rejected write has found. */
export const currentTag: RestFeature = () => ({
  errorHeaders: ({ reply }, { code, data }) => {
    const current = isObject(data) ? data['current'] : undefined
    if (code === 412 && isVersion(current)) reply.header('etag', toVersionTag(current))
  },
})

/** Uses the hash of the body as the entity tag of a read, if the service has the option. */
export const bodyTag: RestFeature = (method) => {
  if (!isRead(method) || method.entry.options.etag !== true) return null
  return {
    beforeSend: (call) => {
      if (call.reply.statusCode === 200) tagBody(call)
      return true
    },
  }
}

describeFunction(bodyTag, { terms: { isFor: hasBodyTag, answerHeaders: TAG_HEADER } })

/** Responds to a read with 304 if the client already has the response. */
export const notModified: RestFeature = (method, { options }) => {
  if (!isRead(method)) return null
  const answerUnchanged = (call: ContextCall): boolean => {
    if (call.request.headers['if-none-match'] === undefined || !isNotModified(call)) return true
    discardBody(call.body)
    call.reply.code(304).send()
    return false
  }
  return options.formatter == null
    ? { beforeSend: answerUnchanged }
    : { transform: async (call) => answerUnchanged(call) }
}

describeFunction(notModified, {
  terms: {
    isFor: (call) => hasBodyTag(call) || (isReading(call) && hasVersionTag(call)),
    header: {
      name: 'If-None-Match',
      in: 'header',
      description: 'The `ETag` of the answer that the caller has.',
      schema: TAG_SCHEMA,
    },
    answers: { 304: 'The caller has the answer already.' },
  },
})

function hasVersionTag({ method, isRecord, service }: DescribedCall): boolean {
  return isRecord && method !== 'remove' && findRecordVersions(service) !== null
}

function hasBodyTag(call: DescribedCall): boolean {
  return isReading(call) && call.options.etag === true
}

function isReading({ method }: DescribedCall): boolean {
  return method === 'find' || method === 'get'
}

/** @throws {TypeError} `context.http.etag` is not an entity tag */
function findTag({ name, entry }: MethodEntry, { http, result }: HookContext): string | undefined {
  const { etag } = http
  if (etag !== undefined) return checkTag(etag)
  const isRecord = answersRecord(name, result, entry.options)
  return isRecord ? findVersionTag(entry.service, result) : undefined
}

function checkTag(tag: string): string {
  if (ENTITY_TAG.test(tag)) return tag
  throw new HookError('context.http.etag must be an entity tag, in its quotes: "7"')
}

/**
 * Makes the hash of a JSON body the entity tag, or part of the version's tag, as one version may look different for
 * each caller. If a hook has set the tag, or the body is not JSON, the tag is kept.
 */
function tagBody(call: ContextCall): void {
  const { reply, context, body } = call
  if (context.http.etag === undefined && isObject(body) && isSentAsJson(reply, body)) {
    const version = reply.getHeader('etag')
    const serialize = call.serialize ?? JSON.stringify
    const text = serialize(body)
    const hash = createHash('sha256').update(text)
    const tag =
      version === undefined
        ? `W/"${hash.digest('base64url')}"`
        : `${String(version).slice(0, -1)}-${hash.digest('hex').slice(0, 16)}"`
    reply.header('etag', tag)
    call.serialize = (payload) => (payload === body ? text : serialize(payload))
  }
  if (reply.hasHeader('etag')) setRevalidated(reply, context)
}

/**
 * Lets callers, but not shared caches, keep a response to a request with credentials, unless it has its own headers for
 * that.
 */
function setRevalidated(reply: FastifyReply, { http }: HookContext): void {
  const names = Object.keys(http.headers ?? {})
  if (names.some((name) => name.toLowerCase() === 'cache-control')) return
  const isPrivate = reply.hasHeader('cache-control')
  reply.header('cache-control', isPrivate ? 'private, no-cache' : 'no-cache')
}

/** Returns whether the caller of a read already has the response. A POST never gets 304. */
function isNotModified({ request, reply }: ContextCall): boolean {
  if (request.method === 'POST' || reply.statusCode !== 200) return false
  const tag = reply.getHeader('etag')
  return tag !== undefined && isKnownTag(request.headers['if-none-match'], String(tag))
}

import { credentials, queryToken } from './credentials.ts'
import { fileUploads } from './files/uploads.ts'
import { eventStreams } from './finds/event-streams.ts'
import { formatter, functionsAfter, functionsBefore, replyData } from './functions-around.ts'
import { slowCalls } from './observing/slow-calls.ts'
import { queryBody } from './parsing/query-body.ts'
import { acceptOfReads, acceptOfWrites } from './replies/accept-check.ts'
import { locationOfNewRecords } from './replies/location.ts'
import { resultSchemas } from './replies/result-serializer.ts'
import type { RestFeature } from './rest-plan.ts'
import { recordStreams } from './streams/record-streams.ts'
import { timeLimitOfCalls } from './timed-requests.ts'
import { bodyTag, currentTag, notModified, versionTag } from './versions/entity-tags.ts'
import { ifMatch } from './versions/if-match.ts'

/**
 * All steps that may surround a service method, in the order in which they run: credentials are parsed before functions
 * run, and a write whose response the client cannot accept is rejected before its query is read. A new feature gets a line
 * here.
 */
export const REST_FEATURES: readonly RestFeature[] = Object.freeze([
  timeLimitOfCalls,
  slowCalls,
  credentials,
  functionsBefore,
  fileUploads,
  acceptOfWrites,
  queryToken,
  queryBody,
  ifMatch,
  eventStreams,
  recordStreams,
  versionTag,
  locationOfNewRecords,
  currentTag,
  replyData,
  functionsAfter,
  acceptOfReads,
  resultSchemas,
  bodyTag,
  notModified,
  formatter,
])

/** The features that watch calls over sockets as well. A new one gets an entry here. */
export const SOCKET_FEATURES: readonly RestFeature[] = Object.freeze([timeLimitOfCalls, slowCalls])

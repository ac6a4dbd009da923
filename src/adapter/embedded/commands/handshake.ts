import type { Document } from 'bson'
import { ObjectId } from 'bson'
import { MAX_DOCUMENT_BYTES, MAX_MESSAGE_BYTES, MAX_WRITE_BATCH } from '../limits.ts'
import { SESSION_TIMEOUT_MINUTES } from '../sessions/sessions.ts'
import type { CommandContext, Commands } from './command.ts'

/** MongoDB 7.0: the newest whose commands are all here (8.0 adds `bulkWrite`). */
const MAX_WIRE_VERSION = 21
const VERSION = '7.0.0'
const ELECTION_ID = new ObjectId('7fffffff0000000000000001')

/** Commands about the server and the connection. */
export const HANDSHAKE_COMMANDS: Commands = {
  // Drivers describe themselves in the fields of these three; none of them changes the reply.
  hello: { run: hello },
  ismaster: { run: hello },
  isMaster: { run: hello },
  ping: { fields: {}, run: () => ({ ok: 1 }) },
  buildInfo: { fields: {}, run: buildInfo },
  buildinfo: { fields: {}, run: buildInfo },
}

/** A replica set of one: that is what makes drivers use sessions, retries and transactions. */
function hello(_command: Document, { address }: CommandContext): Document {
  return {
    helloOk: true,
    ismaster: true,
    isWritablePrimary: true,
    secondary: false,
    setName: 'rs0',
    setVersion: 1,
    hosts: [address],
    primary: address,
    me: address,
    electionId: ELECTION_ID,
    lastWrite: { lastWriteDate: new Date() },
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    maxMessageSizeBytes: MAX_MESSAGE_BYTES,
    maxWriteBatchSize: MAX_WRITE_BATCH,
    localTime: new Date(),
    logicalSessionTimeoutMinutes: SESSION_TIMEOUT_MINUTES,
    minWireVersion: 0,
    maxWireVersion: MAX_WIRE_VERSION,
    readOnly: false,
    ok: 1,
  }
}

function buildInfo(): Document {
  return {
    version: VERSION,
    versionArray: VERSION.split('.').map(Number).concat(0),
    modules: [],
    storageEngines: ['embedded'],
    bits: 64,
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    ok: 1,
  }
}

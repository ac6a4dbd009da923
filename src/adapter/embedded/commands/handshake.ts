import type { Document } from 'bson'
import { ObjectId } from 'bson'
import type { Command, CommandContext } from '../command.ts'
import { MAX_DOCUMENT_BYTES, MAX_MESSAGE_BYTES } from '../wire.ts'

const MAX_WRITE_BATCH = 100_000
/** MongoDB 7.0: the newest whose commands are all here (8.0 adds `bulkWrite`). */
const MAX_WIRE_VERSION = 21
const VERSION = '7.0.0'
const ELECTION_ID = new ObjectId('7fffffff0000000000000001')

/** Commands about the server, the connection and sessions. */
export const HANDSHAKE_COMMANDS: Readonly<Record<string, Command>> = {
  hello,
  ismaster: hello,
  isMaster: hello,
  ping: () => ({ ok: 1 }),
  buildInfo,
  buildinfo: buildInfo,
  connectionStatus: () => ({
    authInfo: { authenticatedUsers: [], authenticatedUserRoles: [] },
    ok: 1,
  }),
  endSessions: (command, context) => end(command.endSessions, context),
  killSessions: (command, context) => end(command.killSessions, context),
  killAllSessions: (_command, { sessions }) => {
    sessions.endAll()
    return { ok: 1 }
  },
  refreshSessions: () => ({ ok: 1 }),
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
    logicalSessionTimeoutMinutes: 30,
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

function end(lsids: unknown, { sessions }: CommandContext): Document {
  for (const lsid of Array.isArray(lsids) ? lsids : []) sessions.end(lsid)
  return { ok: 1 }
}

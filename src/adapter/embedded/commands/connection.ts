import type { Document } from 'bson'
import { ObjectId } from 'bson'
import { CommandError } from '../../matching/command-error.ts'
import { MAX_DOCUMENT_BYTES, MAX_MESSAGE_BYTES, MAX_WRITE_BATCH } from '../limits.ts'
import { SESSION_TIMEOUT_MINUTES } from '../sessions/sessions.ts'
import type { CommandContext, Commands } from './command.ts'

/** MongoDB 7.0: the newest version whose commands are all supported (8.0 adds `bulkWrite`). */
const MAX_WIRE_VERSION = 21
const ELECTION_ID = new ObjectId('7fffffff0000000000000001')

/** Commands about the server, and about the state of a client: sessions, cursors, transactions. */
export const CONNECTION_COMMANDS: Commands = {
  // Drivers describe themselves in the fields of these three; none of them changes the reply.
  hello: { run: hello },
  ismaster: { run: hello },
  isMaster: { run: hello },
  ping: { fields: {}, run: () => ({ ok: 1 }) },
  buildInfo: { fields: {}, run: buildInfo },
  buildinfo: { fields: {}, run: buildInfo },
  endSessions: {
    fields: {},
    run: ({ endSessions: lsids }, { sessions }) => {
      if (!Array.isArray(lsids)) throw new CommandError(14, 'The sessions must be an array')
      for (const lsid of lsids) sessions.end(lsid)
      return { ok: 1 }
    },
  },
  getMore: {
    fields: { collection: 'string', batchSize: 'number' },
    run: (command, context) => {
      const namespace = `${context.database}.${command.collection}`
      return context.cursors.next(command.getMore, namespace, command.batchSize, context.session)
    },
  },
  killCursors: {
    fields: { cursors: 'array' },
    run: (command, { cursors }) => {
      const { cursors: ids = [] } = command
      const cursorsKilled = ids.filter((id: unknown) => cursors.kill(id))
      const cursorsNotFound = ids.filter((id: unknown) => !cursorsKilled.includes(id))
      return { cursorsKilled, cursorsNotFound, cursorsAlive: [], cursorsUnknown: [], ok: 1 }
    },
  },
  // The dispatcher ends transactions itself: these only run if a command names no transaction.
  commitTransaction: { fields: { recoveryToken: 'object' }, run: refuseWithoutTransaction },
  abortTransaction: { fields: { recoveryToken: 'object' }, run: refuseWithoutTransaction },
}

/** A replica set of one member: it makes drivers use sessions, retries and transactions. */
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
    version: '7.0.0',
    versionArray: [7, 0, 0, 0],
    modules: [],
    storageEngines: ['embedded'],
    bits: 64,
    maxBsonObjectSize: MAX_DOCUMENT_BYTES,
    ok: 1,
  }
}

function refuseWithoutTransaction(): never {
  throw new CommandError(72, 'A commit and an abort must name the transaction they belong to')
}

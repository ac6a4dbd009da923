import {
  BSON,
  MongoBulkWriteError,
  MongoClient,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoOperationTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb'
import t from 'tap'

import {
  callDatabase,
  callWrite,
  toCommitError,
  toDatabaseError,
} from '../../src/adapter/driver-error.ts'
import { Conflict, GeneralError, NotFound } from '../../src/core/errors/index.ts'

const server = (code: number, more: object = {}) =>
  new MongoServerError({ message: 'secret text of shop.users', code, ...more })

/** What a standalone server says to a read of a transaction; for a write the driver wraps it. */
const STANDALONE = new MongoServerError({
  message: 'Transaction numbers are only allowed on a replica set member or mongos',
  code: 20,
})
const WRAPPED = new MongoServerError({ message: 'secret', originalError: STANDALONE })

const ERRORS: readonly [string, Error, string, number][] = [
  ['duplicate key', server(11000), 'Conflict', 409],
  ['duplicate key, old', server(11001), 'Conflict', 409],
  ['write conflict', server(112), 'Conflict', 409],
  ['no such transaction', server(251), 'Conflict', 409],
  ['failed validation', server(121), 'Unprocessable', 422],
  ...[2, 9, 14, 16, 22, 53, 54, 55, 66, 72, 73, 171, 241, 16755, 17262, 17280].map(
    (code): [string, Error, string, number] => [
      `bad value ${code}`,
      server(code),
      'BadRequest',
      400,
    ],
  ),
  ['BSON', new BSON.BSONError('secret'), 'BadRequest', 400],
  ['too large', server(10334), 'PayloadTooLarge', 413],
  ['standalone', STANDALONE, 'NotImplemented', 501],
  ['standalone, of a write', WRAPPED, 'NotImplemented', 501],
  ['illegal operation', server(20), 'GeneralError', 500],
  ['no text index', server(27), 'GeneralError', 500],
  ['time limit', server(50), 'Timeout', 408],
  ['time limit, exceeded', server(262), 'Timeout', 408],
  ['network', new MongoNetworkError('secret'), 'Unavailable', 503],
  ['network timeout', new MongoNetworkTimeoutError('secret'), 'Unavailable', 503],
  ['server selection', new MongoServerSelectionError('secret', {} as never), 'Unavailable', 503],
  ['socket, broken', coded('ECONNRESET'), 'Unavailable', 503],
  ['socket, closed', coded('EPIPE'), 'Unavailable', 503],
  ['socket, destroyed', coded('ERR_STREAM_DESTROYED'), 'Unavailable', 503],
  ['pool', named('MongoWaitQueueTimeoutError'), 'Unavailable', 503],
  ['pool cleared', named('MongoPoolClearedError'), 'Unavailable', 503],
  ['no primary', server(10107), 'Unavailable', 503],
  ['pool cleared by the monitor', named('PoolClearedOnNetworkError'), 'Unavailable', 503],
  ['cursor not found', server(43), 'Unavailable', 503],
  ['no server for the read preference', server(133), 'Unavailable', 503],
  ['no majority to read from', server(134), 'Unavailable', 503],
  ['no shard key', server(61), 'BadRequest', 400],
  ['write concern', unconfirmed(64), 'Unavailable', 503],
  ['write concern, too many servers', unconfirmed(100), 'Unavailable', 503],
  ['write concern, shutting down', unconfirmed(91), 'Unavailable', 503],
  ['not authorised', server(13), 'GeneralError', 500],
  ['wrong use of the driver', new MongoInvalidArgumentError('secret'), 'GeneralError', 500],
  ['a fault in code', new TypeError('secret'), 'GeneralError', 500],
]

for (const [title, thrown, name, code] of ERRORS) {
  t.test(`answers an error of the kind "${title}" with ${name}, without its text`, async (t) => {
    const error = toDatabaseError(thrown)
    t.match(error, { name, code, cause: thrown })
    t.notMatch(JSON.stringify(error), /secret|shop|users/)
  })
}

t.test('names the fields of a duplicate, never values or indexes', async (t) => {
  const details = { keyPattern: { email: 1 }, keyValue: { email: 'a@b' }, index: 'email_1' }
  const error = toDatabaseError(server(11000, details))
  t.strictSame(error.toJSON(), {
    name: 'Conflict',
    message: 'A record with the same values exists already',
    code: 409,
    className: 'conflict',
    data: { fields: ['email'] },
  })
})

t.test('says when to try again after a conflict', async (t) => {
  for (const code of [112, 251]) {
    t.match(toDatabaseError(server(code)).toJSON(), { code: 409, data: { retryAfter: 1 } })
  }
})

t.test('says that a write may have happened which too few servers confirm', async (t) => {
  const unknown = { code: 503, errors: { outcome: 'unknown' } }
  t.match(toDatabaseError(unconfirmed(64)).toJSON(), unknown)
})

t.test('reads the code of a failed write of many', async (t) => {
  const details = { message: 'secret', code: 11000, writeErrors: [] }
  const error = toDatabaseError(new MongoBulkWriteError(details, {} as never))
  t.ok(error instanceof Conflict)
})

t.test('reads the error inside of a failed write of many', async (t) => {
  const unreachable = new MongoServerSelectionError('secret', {} as never)
  for (const inner of [new MongoNetworkError('secret'), unreachable]) {
    const error = toDatabaseError(new MongoBulkWriteError(inner as never, {} as never))
    t.match(error, { name: 'Unavailable', code: 503 })
  }
})

t.test('leaves the errors of services alone and answers anything else with 500', async (t) => {
  const notFound = new NotFound('x')
  t.equal(toDatabaseError(notFound), notFound)
  for (const thrown of ['text', null, undefined, { code: 11000 }]) {
    t.match(toDatabaseError(thrown), { name: 'GeneralError', message: 'Internal error' })
  }
})

t.test('turns the rejection of an operation into the error of a service', async (t) => {
  t.equal(await callDatabase(async () => 5), 5)
  await t.rejects(
    callDatabase(() => Promise.reject(new Error('secret'))),
    GeneralError,
  )
})

t.test('says that a write may have happened which the driver gave up waiting for', async (t) => {
  const client = new MongoClient('mongodb://127.0.0.1:1/')
  const timedOut = new MongoOperationTimeoutError('secret')
  const unknown = { errors: { outcome: 'unknown' } }
  const send = (thrown: Error, isSent = true) =>
    callWrite(client, async () => {
      if (isSent) client.emit('connectionCheckedOut', {} as never)
      throw thrown
    })
  for (const thrown of [timedOut, new MongoBulkWriteError(timedOut as never, {} as never)]) {
    await t.rejects(send(thrown), { name: 'Timeout', code: 408, ...unknown })
  }
  const clear = { code: 408, errors: undefined }
  t.match(await send(timedOut, false).catch((thrown) => thrown), clear)
  t.match(await send(server(50)).catch((thrown) => thrown), clear)
  t.match(toCommitError(timedOut), { code: 503, ...unknown })
  t.match(toCommitError(server(50)), clear)
})

function unconfirmed(code: number): MongoWriteConcernError {
  const writeConcernError = { code, errmsg: 'secret text of shop.users' }
  return new MongoWriteConcernError({ ok: 1, writeConcernError } as never)
}

function coded(code: string): Error {
  return Object.assign(new Error('secret'), { code })
}

function named(name: string): Error {
  return Object.assign(new Error('secret'), { name })
}

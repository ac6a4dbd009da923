import type { Http2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { StreamUnsupported } from '../../core/errors/coded-errors.ts'
import { toServiceError } from '../../core/index.ts'
import { readNames } from '../../core/schema/resolvers/selection.ts'
import type { RecordStream, StreamableService } from '../../core/services/record-stream.ts'
import { checkRecords, copyParams, FollowedFind, toFindResult } from '../finds/followed-find.ts'
import { beginAnswer } from '../finds/request-streams.ts'
import { sendBody } from '../replies/body.ts'
import { isGone, markAnswered } from '../replies/reply-state.ts'
import { hasWholeSchema } from '../replies/result-serializer.ts'
import type { StreamedCall } from '../rest-plan.ts'
import type { CheckExport } from './open-exports.ts'
import { admitExport } from './open-exports.ts'
import type { RecordFormat, RecordWriter } from './record-formats.ts'

/** @see RFC 9113 §7 */
const HTTP2_INTERNAL_ERROR = 2

/** A call whose records are being sent. */
interface SendingCall extends StreamedCall {
  readonly find: FollowedFind
  readonly writer: RecordWriter
  readonly stream: RecordStream
  /** Rejects if the caller may no longer read. */
  readonly check: () => Promise<void>
}

/**
 * Responds to a call of `find` with all its records. Hooks run around the first batch; those that shape the result then
 * run again for each further batch, as it is read.
 * @param fileName the file that browsers save the response as, unless a hook names another; `undefined` for none
 * @throws the error with which `find` rejects the call
 */
export async function sendRecords(
  call: StreamedCall,
  format: RecordFormat,
  fileName?: string,
): Promise<void> {
  const { method, context, request, reply, transport } = call
  if (hasWholeSchema(method)) {
    throw new StreamUnsupported('find has a schema for its whole response: there is no stream')
  }
  if (request.raw.httpVersion === '1.0') {
    throw new StreamUnsupported('A stream needs HTTP/1.1: without it a broken answer looks whole')
  }
  const select = readNames(context.params.query?.['$select'])
  const find = new FollowedFind(method)
  const service = method.entry.service as StreamableService
  const given = copyParams(context.params, context.params.query)
  let checkCaller: CheckExport | undefined
  let opened: RecordStream | undefined
  try {
    const answer = await find.begin(context, async ({ params }) => {
      checkCaller ??= admitExport(transport, reply, params)
      opened = await service.streamRecords(params)
      const { value } = await opened.batches.next()
      return toFindResult(opened, value ?? [])
    })
    // `begin()` fails if the method has not run.
    const stream = opened as unknown as RecordStream
    // Created before the response starts, so that a failure here is an ordinary error response.
    const writer = format.createWriter(method, select)
    const first = writer.head + writer.write(checkRecords(answer))
    const isOpen = beginAnswer(call)
    if (isOpen) {
      reply.hook = context
      reply.header('content-type', `${format.mediaType}; ${format.parameters}`)
      if (fileName !== undefined && !reply.hasHeader('content-disposition')) {
        reply.header('content-disposition', `attachment; filename="${fileName}"`)
      }
    }
    if (!isOpen || request.method === 'HEAD') {
      await stream.batches.return()
      if (isOpen) sendBody(reply, null)
      return
    }
    const recheck = () =>
      find.call(find.createContext(copyParams(given, given.query)), () => toFindResult(stream, []))
    const check = async () => checkCaller?.(recheck)
    const lines = writeLines({ ...call, find, writer, stream, check }, first)
    // It reads more only after the previous chunk was written: a slow reader makes the database wait.
    const body = Readable.from(lines, { objectMode: false, highWaterMark: 1 })
    body.once('close', () => void stream.batches.return().catch(() => undefined))
    sendBody(reply, body)
    // Marked before the first byte is written: neither the time limit nor an error may respond any more.
    markAnswered(reply)
    transport.followEndless(reply)
  } catch (error) {
    await opened?.batches.return()
    throw error
  }
}

async function* writeLines(call: SendingCall, first: string): AsyncGenerator<string, void> {
  const { context, find, writer, stream, check, request, reply, transport } = call
  if (first !== '') yield first
  try {
    for await (const batch of stream.batches) {
      await check()
      const answer = await find.shape(context, toFindResult(stream, batch))
      const lines = writer.write(checkRecords(answer))
      if (lines !== '') yield lines
    }
  } catch (thrown) {
    if (isGone(reply.raw)) return
    const error = toServiceError(thrown)
    const last = writer.fail(transport.errors.tell(error, thrown, request, reply))
    if (last !== '') yield last
    await breakOff(reply.raw)
  }
}

/** Sends what was written, then ends the connection in the middle of the response. */
async function breakOff(
  raw: FastifyReply['raw'] & { readonly stream?: Http2Stream },
): Promise<void> {
  const closed = new Promise<void>((resolve) => raw.once('close', resolve))
  const written = new Promise<void>((resolve) => void raw.write('', () => resolve()))
  await Promise.race([written, closed])
  if (isGone(raw)) return
  if (raw.stream !== undefined) raw.stream.close(HTTP2_INTERNAL_ERROR)
  else raw.destroy()
  await closed
}

import { GeneralError } from '../../core/errors/index.ts'
import { isEmpty, isSuccess } from '../answers/error-body.ts'
import type { Abort } from '../answers/time-limit.ts'
import type { Answer, PreparedRequest, ResponseType } from '../connection.ts'
import type { AbortedCall } from '../remote-service.ts'
import { RemoteService } from '../remote-service.ts'
import { joinHeaders } from './answer-headers.ts'
import { convertBytes } from './body-bytes.ts'
import { LightAbort } from './light-abort.ts'
import type { UndiciDispatcher, UndiciHeaders } from './undici-dispatch.ts'
import { dispatch } from './undici-dispatch.ts'

/** The body of an answer of undici: a stream of Node. */
interface UndiciBody {
  text(): Promise<string>
  arrayBuffer(): Promise<ArrayBuffer>
  blob(): Promise<unknown>
  dump(): Promise<unknown>
}

/** `undici`, or anything that has its function `request`. */
export interface UndiciLibrary {
  /** Sends a request. Resolves to its answer. */
  request(url: string, options: object): Promise<unknown>
  /**
   * Returns what requests are sent by. Where it is there, as in `undici` itself, calls are handed to
   * the dispatcher, which takes less than `request` does, unless they want a stream.
   */
  getGlobalDispatcher?(): unknown
}

interface UndiciAnswer {
  readonly statusCode: number
  readonly headers: UndiciHeaders
  readonly body: UndiciBody
}

const READERS: Readonly<Record<ResponseType, (body: UndiciBody) => unknown>> = {
  json: (body) => body.text(),
  text: (body) => body.text(),
  arrayBuffer: (body) => body.arrayBuffer(),
  blob: (body) => body.blob(),
  stream: (body) => body,
}

/** Options that every dispatcher takes: others may be those of `request`. */
const DISPATCH_OPTIONS: ReadonlySet<string> = new Set([
  ...['dispatcher', 'headersTimeout', 'bodyTimeout', 'reset'],
])

/** How long undici itself waits for the headers of an answer, and for each part of its body. */
const OWN_LIMIT_MS = 300_000

/** A remote service that is called by undici, in Node alone. */
export class UndiciClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'UndiciClient'

  /** Returns what aborts a request: its function `request` gets a signal of the platform. */
  protected override createAbort(call: AbortedCall): Abort {
    const { responseType, libraryOptions } = call
    const isDispatched =
      responseType !== 'stream' &&
      findDispatcher(this.connection as UndiciLibrary, libraryOptions) !== undefined
    return isDispatched ? (new LightAbort() as unknown as Abort) : super.createAbort(call)
  }

  /**
   * Sends a request by undici. Resolves to its answer.
   * @throws {GeneralError} the body of a success is compressed: undici gives it out as it is
   */
  override sendRequest(request: PreparedRequest): Promise<Answer> {
    const { responseType, libraryOptions } = request
    const library = this.connection as UndiciLibrary
    if (responseType === 'stream') return sendByRequest(library, request)
    const dispatcher = findDispatcher(library, libraryOptions)
    if (dispatcher === undefined) return sendByRequest(library, request)
    return sendByDispatcher(dispatcher, request, responseType)
  }
}

/** Returns what sends a request, `undefined` where only `request` can do what is asked for. */
function findDispatcher(
  library: UndiciLibrary,
  options: PreparedRequest['libraryOptions'],
): UndiciDispatcher | undefined {
  if (library.getGlobalDispatcher === undefined) return undefined
  for (const name of Object.keys(options)) {
    if (!DISPATCH_OPTIONS.has(name)) return undefined
  }
  return (options['dispatcher'] ?? library.getGlobalDispatcher()) as UndiciDispatcher
}

async function sendByDispatcher(
  dispatcher: UndiciDispatcher,
  request: PreparedRequest,
  responseType: Exclude<ResponseType, 'stream'>,
): Promise<Answer> {
  const { url, method, headers, body = null, signal } = request
  const { origin, pathname, search } = new URL(url)
  const path = pathname + search
  // A dispatcher of undici 8 refuses options that name another one.
  const { dispatcher: _, ...others } = toOptions(request)
  const options = { ...others, origin, path, method, headers, body }
  const answer = await dispatch(dispatcher, options, signal)
  if (isEncoded(answer)) return refuseEncoded(answer)
  const { statusCode, body: bytes } = answer
  if (!isSuccess(statusCode)) return toAnswer(answer, bytes)
  const contentType = String(answer.headers['content-type'] ?? '')
  return toAnswer(answer, convertBytes(bytes, responseType, contentType))
}

async function sendByRequest(library: UndiciLibrary, request: PreparedRequest): Promise<Answer> {
  const { url, method, headers, body = null, signal = null, responseType } = request
  const options = { ...toOptions(request), method, headers, body, signal }
  const answer = (await library.request(url, options)) as UndiciAnswer
  if (isEncoded(answer)) {
    // A body that nobody reads would keep its connection.
    await answer.body.dump()
    return refuseEncoded(answer)
  }
  const read = READERS[isSuccess(answer.statusCode) ? responseType : 'stream']
  return toAnswer(answer, await read(answer.body))
}

/**
 * Returns the options of the call: without the time limits of undici where the call may take longer
 * than they allow, and for a write without redirects, which a dispatcher may follow by itself.
 */
function toOptions(request: PreparedRequest): Readonly<Record<string, unknown>> {
  return {
    ...(request.timeoutMs > OWN_LIMIT_MS && { headersTimeout: 0, bodyTimeout: 0 }),
    ...(request.redirect === 'manual' && { maxRedirections: 0 }),
    ...request.libraryOptions,
  }
}

type AnswerHead = Pick<UndiciAnswer, 'statusCode' | 'headers'>

function toAnswer({ statusCode, headers }: AnswerHead, body: unknown): Answer {
  return { status: statusCode, readHeaders: () => joinHeaders(headers), body }
}

function isEncoded({ statusCode, headers }: AnswerHead): boolean {
  // The names of encodings are the same in any case.
  const encoding = String(headers['content-encoding'] ?? '').toLowerCase()
  return !isEmpty(statusCode) && encoding !== '' && encoding !== 'identity'
}

/** Returns an error of the server without its body. */
function refuseEncoded(answer: AnswerHead): Answer {
  const { statusCode, headers } = answer
  if (!isSuccess(statusCode)) return toAnswer(answer, '')
  throw new GeneralError(
    `The server answered ${statusCode} with a body that undici does not decode: '${headers['content-encoding']}'`,
  )
}

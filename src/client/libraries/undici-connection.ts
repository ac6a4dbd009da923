import { isSuccess } from '../answers/error-body.ts'
import type { Abort } from '../answers/time-limit.ts'
import type { Answer, PreparedRequest, ResponseType } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { joinHeaders } from './answer-headers.ts'
import { LightAbort } from './light-abort.ts'

/** The body of an answer of undici: a stream of Node. */
interface UndiciBody {
  text(): Promise<string>
  arrayBuffer(): Promise<ArrayBuffer>
  blob(): Promise<unknown>
}

/** `undici`, or anything that has its function `request`. */
export interface UndiciLibrary {
  /** Sends a request. Resolves to its answer. */
  request(url: string, options: object): Promise<unknown>
}

interface UndiciAnswer {
  readonly statusCode: number
  readonly headers: object
  readonly body: UndiciBody
}

const READERS: Readonly<Record<ResponseType, (body: UndiciBody) => unknown>> = {
  json: (body) => body.text(),
  text: (body) => body.text(),
  arrayBuffer: (body) => body.arrayBuffer(),
  blob: (body) => body.blob(),
  stream: (body) => body,
}

/** A remote service that is called by `request` of undici, in Node alone. */
export class UndiciClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'UndiciClient'

  /** Returns what aborts a request: undici takes anything that it can listen to. */
  protected override createAbort(): Abort {
    return new LightAbort() as unknown as Abort
  }

  /** Sends a request by undici. Resolves to its answer. */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    const { url, method, headers, body, signal, responseType, libraryOptions } = request
    const options = {
      ...libraryOptions,
      method,
      headers,
      body: body ?? null,
      signal: signal ?? null,
    }
    const answer = (await (this.connection as UndiciLibrary).request(url, options)) as UndiciAnswer
    const { statusCode: status } = answer
    const read = READERS[isSuccess(status) ? responseType : 'stream']
    return {
      status,
      readHeaders: () => joinHeaders(answer.headers),
      body: await read(answer.body),
    }
  }
}

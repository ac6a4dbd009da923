import type { Answer, PreparedRequest } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { convertBytes, joinHeaders } from './body-bytes.ts'

/** `axios`, or an instance created by `axios.create()`. */
export interface AxiosLibrary {
  /** Sends a request. Resolves to its response. */
  request(config: object): Promise<unknown>
}

interface AxiosAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly data: unknown
}

/** A remote service that sends requests with axios. */
export class AxiosClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'AxiosClient'

  /** Sends a request with axios. Resolves to its response. */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    const { url, method, headers, body, signal, responseType, libraryOptions } = request
    const isStream = responseType === 'stream'
    const answer = (await (this.connection as AxiosLibrary).request({
      ...libraryOptions,
      ...toRedirectOptions(request),
      url,
      method,
      // Without a body, axios would set the content type of a form.
      headers: body === undefined ? { 'content-type': false, ...headers } : headers,
      data: body,
      ...(signal !== undefined && { signal }),
      // axios leaves bytes unchanged; otherwise it returns truncated JSON as a string.
      responseType: isStream ? 'stream' : 'arraybuffer',
      transformRequest: [keep],
      transformResponse: [keep],
      validateStatus: () => true,
    })) as AxiosAnswer
    const { status, headers: answerHeaders, data } = answer
    return {
      status,
      readHeaders: () => joinHeaders({ ...answerHeaders }),
      body: isStream ? data : await convertBytes(data, responseType, answerHeaders['content-type']),
    }
  }
}

/** An `XMLHttpRequest` follows every redirect, and axios prefers it if there is one. */
function toRedirectOptions({ redirect, libraryOptions }: PreparedRequest): object {
  if (redirect === 'follow' || 'maxRedirects' in libraryOptions) return {}
  if (!('XMLHttpRequest' in globalThis)) return { maxRedirects: 0 }
  const fetchOptions = { ...(libraryOptions['fetchOptions'] as object | undefined), redirect }
  return { maxRedirects: 0, adapter: 'fetch', fetchOptions }
}

function keep(data: unknown): unknown {
  return data
}

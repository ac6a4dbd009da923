import type { Answer, PreparedRequest } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { convertBytes, joinHeaders } from './body-bytes.ts'

/** `axios`, or an instance that `axios.create()` has made. */
export interface AxiosLibrary {
  /** Sends a request. Resolves to its answer. */
  request(config: object): Promise<unknown>
}

interface AxiosAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly data: unknown
}

/** A remote service that is called by axios. */
export class AxiosClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'AxiosClient'

  /** Sends a request by axios. Resolves to its answer. */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    const { url, method, headers, body, signal, responseType, libraryOptions } = request
    const isStream = responseType === 'stream'
    const answer = (await (this.connection as AxiosLibrary).request({
      ...libraryOptions,
      ...toRedirectOptions(request),
      url,
      method,
      // Without a body, axios would name the type of a form.
      headers: body === undefined ? { 'content-type': false, ...headers } : headers,
      data: body,
      ...(signal !== undefined && { signal }),
      // Bytes, of which it makes nothing by itself: it takes a part of a JSON body for a string.
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

/** An `XMLHttpRequest` follows every redirect, and axios prefers it where there is one. */
function toRedirectOptions({ redirect, libraryOptions }: PreparedRequest): object {
  if (redirect === 'follow' || 'maxRedirects' in libraryOptions) return {}
  if (!('XMLHttpRequest' in globalThis)) return { maxRedirects: 0 }
  const fetchOptions = { ...(libraryOptions['fetchOptions'] as object | undefined), redirect }
  return { maxRedirects: 0, adapter: 'fetch', fetchOptions }
}

function keep(data: unknown): unknown {
  return data
}

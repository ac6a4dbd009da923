import type { $Fetch } from 'ofetch'
import type { Answer, PreparedRequest, ResponseType } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { toObject } from './fetch-connection.ts'

/** Text instead of JSON: ofetch takes the part of a JSON body that has arrived for a string. */
const OFETCH_TYPES = {
  json: 'text',
  text: 'text',
  arrayBuffer: 'arrayBuffer',
  blob: 'blob',
  stream: 'stream',
} as const satisfies Record<ResponseType, string>

/** A remote service that is called by ofetch. */
export class OfetchClient extends RemoteService {
  /** Written out, because bundlers shorten the names of classes. */
  static override readonly name: string = 'OfetchClient'

  /** Sends a request by ofetch. Resolves to its answer. */
  override async sendRequest(request: PreparedRequest): Promise<Answer> {
    const { url, method, headers, body, signal, redirect, responseType, libraryOptions } = request
    const answer = await (this.connection as $Fetch).raw(url, {
      redirect,
      ...libraryOptions,
      method,
      headers,
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
      // By default, ofetch sends a failed GET again, at once.
      retry: false,
      ignoreResponseError: true,
      responseType: OFETCH_TYPES[responseType],
    })
    return {
      status: answer.status,
      readHeaders: () => toObject(answer.headers),
      body: answer._data ?? '',
    }
  }
}

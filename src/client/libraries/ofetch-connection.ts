import type { $Fetch } from 'ofetch'
import type { Answer, PreparedRequest } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import { readAnswer, toObject } from './fetch-connection.ts'

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
      // It leaves a stream alone: it takes a part of a JSON body for a string, and reads an error of
      // any length.
      responseType: 'stream',
    })
    // A hook of ofetch may have put something else there.
    if (answer._data !== undefined && answer._data !== answer.body) {
      const { status, _data } = answer
      return { status, readHeaders: () => toObject(answer.headers), body: _data }
    }
    return readAnswer(answer, responseType)
  }
}

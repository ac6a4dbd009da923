import type { $Fetch } from 'ofetch'
import { isPlainObject } from '../../core/value-kind.ts'
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
    const { status, _data: data } = answer
    if (data !== undefined && data !== answer.body) {
      return { status, readHeaders: () => toObject(answer.headers), body: toBody(data) }
    }
    return readAnswer(answer, responseType)
  }
}

/** Returns what a hook has put in the place of a body: objects and lists as the JSON that they came from. */
function toBody(data: unknown): unknown {
  return isPlainObject(data) || Array.isArray(data) ? JSON.stringify(data) : data
}

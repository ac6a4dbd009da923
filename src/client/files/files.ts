import type { AnyApplication } from '../../core/app.ts'
import { InvalidCall } from '../../core/errors/coded-errors.ts'
import { ArgumentError } from '../../core/errors/setup-errors.ts'
import type { DirectUpload } from '../../core/files/file-content.ts'
import { createConfigurator } from '../../core/options/configurator.ts'
import type { RecordId } from '../../core/params.ts'
import type { ServiceEntryFace } from '../../core/services/method-entry.ts'
import type { Answer, PreparedRequest, ResponseType } from '../connection.ts'
import { RemoteService } from '../remote-service.ts'
import type { FoundRecord } from '../remote-services.ts'
import { mergeHeaders } from '../requests/request-headers.ts'
import { createServiceURL, encodeSegment } from '../requests/service-url.ts'
import { sendCall } from '../sent-call.ts'
import type { OnProgress } from './sent-file.ts'
import { sendFile } from './sent-file.ts'

/** Options that {@link upload} and {@link download} share. */
export interface TransferOptions {
  /** Aborts the call, which then rejects with the reason of the signal. Default: there is no time limit. */
  readonly signal?: AbortSignal | undefined
  /** The values of placeholders in the path of the service. */
  readonly route?: Readonly<Record<string, string>> | undefined
}

/** Options of {@link upload}. */
export interface UploadOptions extends TransferOptions {
  /** Called while the file is sent: `({ sent, total }) => …`, in bytes. */
  readonly onProgress?: OnProgress | undefined
  /**
   * Whether the file is sent to the storage itself, by the method `createUpload`. Browsers need the permission of the
   * storage (CORS). Default: `false`.
   */
  readonly direct?: boolean | undefined
}

type Method = (service: object, ...given: never[]) => unknown

type RequestParts = {
  readonly method: 'GET' | 'POST'
  readonly path?: string
  readonly query?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly responseType: ResponseType
}

/**
 * Returns a function for `client.configure(files())` that gives remote services the methods `upload` and `download`,
 * unless they have methods of these names.
 */
export function files(): (client: object) => void {
  return createConfigurator<AnyApplication>('files', undefined, (app) => {
    const add = ({ service }: ServiceEntryFace): void => {
      if (!(service instanceof RemoteService)) return
      for (const [name, method] of Object.entries({ upload, download })) {
        if (name in service) continue
        const value = (...given: never[]) => (method as Method)(service, ...given)
        Object.defineProperty(service, name, { value, configurable: true, writable: true })
      }
    }
    for (const entry of app.entries.values()) add(entry)
    app.observe((change, _path, entry) => change === 'added' && add(entry))
  }) as (client: object) => void
}

/**
 * Sends a file, with its fields in the query. Resolves to its record. Hooks of the client do not run, and the request is
 * sent by `fetch` of the platform or, for progress in browsers, by `XMLHttpRequest`.
 * @throws {BadRequest} the file has no name
 */
export async function upload<S extends object>(
  service: S,
  file: Blob | Uint8Array<ArrayBuffer>,
  fields: Readonly<Record<string, unknown>> = {},
  { onProgress, direct, ...options }: UploadOptions = {},
): Promise<FoundRecord<S>> {
  const remote = toRemote(service)
  const content = file instanceof Blob ? file : new Blob([file])
  const given = { name: (file as Partial<File>).name, ...fields }
  if (given.name === undefined) throw new InvalidCall("The file has no name: { name: 'plan.pdf' }")
  const sendRequest = sendFile.bind(null, content, onProgress)
  const post = { method: 'POST', responseType: 'json' } as const
  // Without bytes there is nothing to send to the storage.
  if (direct && content.size > 0) {
    const headers = { ...JSON_TYPES, 'x-service-method': 'createUpload' }
    const body = JSON.stringify({ size: content.size, type: content.type || undefined })
    const request = await transfer(remote, options, { ...post, headers, body })
    const { token, ...place } = request as DirectUpload
    // Without the credentials and headers of the client, which are not for the storage.
    const storage = { name: remote.name, base: remote.base, sendRequest }
    const { origin } = new URL(place.url)
    await sendWithoutLimit(storage, options.signal, origin, { ...place, responseType: 'text' })
    const query = remote.getQuery({ ...given, $upload: token })
    return transfer(remote, options, { ...post, query, headers: JSON_TYPES }) as never
  }
  const headers = { ...JSON_TYPES, 'content-type': content.type || 'application/octet-stream' }
  const query = remote.getQuery(given)
  // Another object with the same credentials.
  const sender = Object.create(remote, { sendRequest: { value: sendRequest } })
  return transfer(sender, options, { ...post, query, headers }) as Promise<FoundRecord<S>>
}

const JSON_TYPES = { accept: 'application/json', 'content-type': 'application/json' }

/** Resolves to the content of a file. Hooks of the client do not run. */
export async function download(
  service: object,
  id: RecordId,
  options: TransferOptions = {},
): Promise<Blob> {
  const path = `/${encodeSegment(id, 'id for .download')}/content`
  const parts = { method: 'GET', path, headers: { accept: '*/*' }, responseType: 'blob' } as const
  const remote = toRemote(service)
  const sendRequest = { value: sendDownload.bind(null, remote) }
  return transfer(Object.create(remote, { sendRequest }), options, parts) as Promise<Blob>
}

/** The headers that may stay on the way to another server: libraries take the second one away. */
const UNBOUND: readonly string[] = ['accept', 'authorization']

/** Sends a request for content, which may be in a storage: other headers of the client are not for that. */
async function sendDownload(remote: RemoteService, request: PreparedRequest): Promise<Answer> {
  const names = Object.keys(request.headers)
  if (names.every((name) => UNBOUND.includes(name))) return remote.sendRequest(request)
  const answer = await remote.sendRequest({ ...request, redirect: 'manual', isBound: true })
  const { location } = answer.readHeaders()
  if (answer.status !== 302 || location === undefined) return answer
  const url = new URL(location, request.url).href
  return remote.sendRequest({ ...request, url, headers: {}, libraryOptions: {} })
}

function transfer(
  remote: RemoteService,
  { signal, route }: TransferOptions,
  { method, path = '', query = '', headers, body, responseType }: RequestParts,
): Promise<unknown> {
  const { pattern, fill } = createServiceURL(remote.base, remote.name)
  const { headers: shared, connection: libraryOptions } = remote.options
  return sendWithoutLimit(remote, signal, pattern + path, {
    ...{ method, url: fill(route) + path + query, body, responseType, libraryOptions },
    headers: { ...mergeHeaders(shared), ...headers },
  })
}

/** Sends a request that is not repeated and has no time limit, as files may be large. */
function sendWithoutLimit(
  sender: Parameters<typeof sendCall>[0],
  signal: AbortSignal | undefined,
  path: string,
  request: Pick<PreparedRequest, 'method' | 'url' | 'headers' | 'responseType'> &
    Partial<PreparedRequest>,
): Promise<unknown> {
  const { method } = request
  return sendCall(sender, {
    ...{
      method: method === 'GET' ? 'get' : 'create',
      headers: {},
      signal,
      label: { method, path },
    },
    ...{ accept: undefined, retries: 0, isExport: false },
    request: {
      ...{ body: undefined, libraryOptions: {}, timeoutMs: Number.POSITIVE_INFINITY, ...request },
    },
  })
}

function toRemote(service: object): RemoteService {
  if (service instanceof RemoteService) return service
  throw new ArgumentError('Only the services of a client send files')
}

declare module '../client.ts' {
  interface RemoteServiceMembers<S> {
    /** Sends a file, and resolves to its record: {@link upload}. */
    upload(
      file: Blob | Uint8Array<ArrayBuffer>,
      fields?: Readonly<Record<string, unknown>>,
      options?: UploadOptions,
    ): Promise<FoundRecord<S>>
    /** Resolves to the content of a file: {@link download}. */
    download(id: RecordId, options?: TransferOptions): Promise<Blob>
  }
}

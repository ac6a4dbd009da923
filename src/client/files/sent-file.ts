import type { Answer, PreparedRequest } from '../connection.ts'
import { readAnswer } from '../libraries/fetch-connection.ts'

/** Called with the number of bytes that have been sent, and that of the whole file. */
export type OnProgress = (progress: { readonly sent: number; readonly total: number }) => void

/** The part of `XMLHttpRequest` that is used: `fetch` of browsers does not tell how far an upload is. */
interface Transmitter {
  readonly upload: { onprogress: (event: { readonly loaded: number }) => void }
  readonly status: number
  readonly responseText: string
  withCredentials: boolean
  onload: () => void
  onerror: () => void
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getAllResponseHeaders(): string
  send(body: Blob): void
  abort(): void
}

/** Sends a request with a file as its body. It may be sent again, with other credentials. */
export async function sendFile(
  file: Blob,
  onProgress: OnProgress | undefined,
  request: PreparedRequest,
): Promise<Answer> {
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Transmitter }
  if (onProgress !== undefined && XMLHttpRequest !== undefined) {
    request.signal?.throwIfAborted()
    return transmit(new XMLHttpRequest(), file, onProgress, request)
  }
  const { url, method, signal = null, libraryOptions } = request
  const body = onProgress === undefined ? file : count(file, onProgress)
  // A stream does not tell its length, which a storage needs.
  const headers = { ...request.headers, 'content-length': String(file.size) }
  const options = { ...libraryOptions, method, headers, body, signal, redirect: 'manual' } as const
  return readAnswer(await fetch(url, { ...options, duplex: 'half' } as RequestInit), 'json')
}

/** How much of a file is read at a time, in bytes. */
const PART_BYTES = 65_536

function count(file: Blob, onProgress: OnProgress): ReadableStream<Uint8Array> {
  const { size: total } = file
  let sent = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (sent === total) return controller.close()
      const part = new Uint8Array(await file.slice(sent, sent + PART_BYTES).arrayBuffer())
      controller.enqueue(part)
      sent += part.length
      onProgress({ sent, total })
    },
  })
}

function transmit(
  xhr: Transmitter,
  file: Blob,
  onProgress: OnProgress,
  { url, method, headers, signal, libraryOptions }: PreparedRequest,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    xhr.open(method, url)
    xhr.withCredentials = libraryOptions['credentials'] === 'include'
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.upload.onprogress = ({ loaded }) => onProgress({ sent: loaded, total: file.size })
    xhr.onload = () => {
      const lines = xhr.getAllResponseHeaders().trim().split('\r\n')
      const readHeaders = (): Record<string, string> =>
        Object.fromEntries(
          lines
            .map((line) => line.split(/: (.*)/))
            .map(([name, value]) => [name?.toLowerCase(), value]),
        )
      resolve({ status: xhr.status, readHeaders, body: xhr.responseText })
    }
    xhr.onerror = () => reject(new TypeError('The request has failed'))
    signal?.addEventListener('abort', () => {
      xhr.abort()
      reject(signal.reason)
    })
    xhr.send(file)
  })
}

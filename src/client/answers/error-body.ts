import type { Answer } from '../connection.ts'

/** Longer bodies are no errors of services, and would be kept as long as the error is. */
export const MAX_ERROR_BYTES = 1_000_000

/** Whether a status stands for a result. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299
}

/** Whether answers with a status have no body at all. */
export function isEmpty(status: number): boolean {
  return status === 204 || status === 205
}

/**
 * Resolves to an answer whose body is a string where it is no success: `''` for a body that is too
 * long. Successes stay as they are.
 */
export async function readErrorBody(answer: Answer): Promise<Answer> {
  const { status, body } = answer
  if (isSuccess(status) || typeof body === 'string') return answer
  return { status, readHeaders: () => answer.readHeaders(), body: await readText(body) }
}

/** A library that was asked for bytes or a stream gives these of an error as well. */
async function readText(body: unknown): Promise<string> {
  if (body === undefined || body === null) return ''
  if (body instanceof ReadableStream) return decode(readChunks(body))
  if (isAsyncIterable(body)) return decode(body)
  return new Response(body as Uint8Array<ArrayBuffer>).text()
}

async function decode(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.length
    // A loop that is left ends its stream, which closes the connection.
    if (length > MAX_ERROR_BYTES) return ''
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/** Iterates over a stream of the platform, which not all browsers can do by themselves. */
async function* readChunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader()
  let isOpen = true
  try {
    while (isOpen) {
      const { done, value } = await reader.read()
      isOpen = !done
      if (value !== undefined) yield value
    }
  } finally {
    if (isOpen) await reader.cancel()
  }
}

function isAsyncIterable(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

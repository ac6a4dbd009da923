/** A stream of Node, as far as its end is concerned. */
interface NodeStream {
  once(event: 'close', listener: () => void): unknown
}

/**
 * Returns a stream that calls back once it has ended: read to its end, failed or given up. Calls back
 * at once for what is no stream.
 */
export function watchStream(stream: unknown, onEnd: () => void): unknown {
  if (stream instanceof ReadableStream) return watchReader(stream.getReader(), onEnd)
  if (isNodeStream(stream)) stream.once('close', onEnd)
  else onEnd()
  return stream
}

/** A stream of the platform has no event for its end: all that is read of it goes through here. */
function watchReader(
  reader: ReadableStreamDefaultReader<unknown>,
  onEnd: () => void,
): ReadableStream {
  // The stream holds nothing back: each chunk is read when the caller asks for it.
  const strategy = { highWaterMark: 0 }
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
        } catch (error) {
          onEnd()
          throw error
        }
        onEnd()
        controller.close()
      },
      cancel(reason) {
        onEnd()
        return reader.cancel(reason)
      },
    },
    strategy,
  )
}

function isNodeStream(value: unknown): value is NodeStream {
  return typeof (value as Partial<NodeStream> | null | undefined)?.once === 'function'
}

import type { Socket } from 'node:net'
import type { Document } from 'bson'
import type { Dispatcher } from './dispatch.ts'
import { toCommandError, toErrorReply } from './errors.ts'
import type { Request } from './protocol/message.ts'
import { createMessageReader, encodeReply, parseMessage } from './protocol/message.ts'

/** How many commands of one connection may wait before the server stops reading from it. */
const MAX_WAITING = 100

/** Replies to the commands that a client sends over a socket, one after another. */
export function serveConnection(socket: Socket, dispatcher: Dispatcher): void {
  const read = createMessageReader()
  let last = Promise.resolve()
  let waiting = 0
  socket.unref()
  socket.setNoDelay(true)
  // Without a listener a broken connection would end the process.
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    try {
      for (const message of read(chunk)) {
        const request = parseMessage(message)
        waiting += 1
        // The protocol requires the replies of a connection in the order of its commands.
        last = last
          .then(() => answer(socket, request, dispatcher))
          .catch(() => socket.destroy())
          .then(() => {
            waiting -= 1
            if (waiting === 0) socket.resume()
          })
      }
      // A client that sends without reading its replies would fill the memory.
      if (waiting > MAX_WAITING) socket.pause()
    } catch {
      // After invalid bytes, it is unknown where the next message begins.
      socket.destroy()
    }
  })
}

async function answer(socket: Socket, request: Request, dispatcher: Dispatcher): Promise<void> {
  const reply = await dispatcher.run(request.readBody)
  if (!request.wantsReply || socket.destroyed) return
  if (socket.write(toBytes(request, reply))) return
  // The socket's buffer is full: the next command waits until the client has read.
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      socket.off('drain', goOn)
      socket.off('close', goOn)
      resolve()
    }
    socket.on('drain', goOn)
    socket.on('close', goOn)
  })
}

function toBytes(request: Request, reply: Document): Buffer {
  try {
    return encodeReply(request, reply)
  } catch (error) {
    return encodeReply(request, toErrorReply(toCommandError(error), false))
  }
}

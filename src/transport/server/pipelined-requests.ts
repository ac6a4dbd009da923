import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests of one connection run behind the one that is answered. */
const MAX_RUNNING = 20

/**
 * How many more may wait. One read of a socket holds 64 KiB, which is less than that of any but the
 * smallest requests.
 */
const MAX_WAITING = 500

/** Where a connection keeps its requests that came before earlier ones were answered. */
const PIPELINE: unique symbol = Symbol('remex.pipeline')

type PipelinedSocket = Socket & { [PIPELINE]?: Pipeline }

/**
 * Runs a request whose connection still has to send earlier responses: at once, or once enough of these
 * have been sent. A response keeps its `socket` `null` until it is the next one. Its data stays in memory
 * until then, so that the number of such responses is limited.
 * @param run is not called if the connection ends before
 */
export function runInTurn(
  { socket }: IncomingMessage,
  response: ServerResponse,
  run: () => void,
): void {
  pipelineOf(socket).run(response, run)
}

/**
 * Lets further requests of a connection wait until a stream has ended: nothing can be sent before that.
 * Over HTTP/2 nothing waits, as its streams do not follow one another.
 */
export function holdFurtherRequests(request: IncomingMessage, response: ServerResponse): void {
  if (request.httpVersionMajor < 2) pipelineOf(request.socket).hold(response)
}

function pipelineOf(socket: PipelinedSocket): Pipeline {
  socket[PIPELINE] ??= new Pipeline(socket)
  return socket[PIPELINE]
}

class Pipeline {
  readonly #socket: Socket
  /** The responses under way that were not the next ones when their requests began. */
  readonly #running = new Set<ServerResponse>()
  /** How many of the responses under way are streams. */
  #streams = 0
  #waiting: (() => void)[] = []

  constructor(socket: Socket) {
    this.#socket = socket
    socket.once('close', () => this.#close())
  }

  run(response: ServerResponse, run: () => void): void {
    // Node goes on with what it has read from a connection that is gone.
    if (this.#socket.destroyed) return
    const start = (): void => {
      this.#running.add(response)
      response.once('close', () => {
        this.#running.delete(response)
        this.#goOn()
      })
      run()
    }
    if (this.#isFree && this.#waiting.length === 0) start()
    else if (this.#waiting.length < MAX_WAITING) this.#wait(start)
    else this.#socket.destroy()
  }

  hold(response: ServerResponse): void {
    this.#streams += 1
    response.once('close', () => {
      this.#streams -= 1
      this.#goOn()
    })
  }

  get #isFree(): boolean {
    return this.#streams === 0 && this.#running.size < MAX_RUNNING
  }

  #wait(start: () => void): void {
    this.#waiting.push(start)
    if (this.#waiting.length > 1) return
    const socket = this.#socket
    socket.pause()
    // Node resumes the connection with each response that it has sent, and with each body that is read.
    socket.resume = () => socket
  }

  /** Node says of no response that was not the next one that its connection has gone: streams wait for that. */
  #close(): void {
    for (const response of [...this.#running]) {
      if (response.destroyed || response.socket !== null) continue
      response.destroy()
      response.emit('close')
    }
  }

  #goOn(): void {
    const socket = this.#socket
    while (this.#isFree && !socket.destroyed) {
      const start = this.#waiting.shift()
      if (start === undefined) return
      if (this.#waiting.length === 0) {
        Reflect.deleteProperty(socket, 'resume')
        socket.resume()
      }
      start()
    }
  }
}

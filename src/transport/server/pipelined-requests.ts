import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** How many requests of one connection may run while an earlier response is being sent. */
const MAX_RUNNING = 20

/**
 * How many more may wait. One read of a socket has 64 KiB, which holds more only if requests have fewer than
 * 130 bytes.
 */
const MAX_WAITING = 500

/** The key under which a connection keeps its pipelined requests. */
const PIPELINE: unique symbol = Symbol('remex.pipeline')

type PipelinedSocket = Socket & { [PIPELINE]?: Pipeline }

/**
 * Runs a request whose connection still has to send earlier responses: at once, or when enough of these were sent. The
 * `socket` of a response is `null` until its turn to be sent. Until then its data stays in memory, which is why the
 * number of such responses is limited.
 * @param run not called if the connection ends first
 */
export function runInTurn(
  { socket }: IncomingMessage,
  response: ServerResponse,
  run: () => void,
): void {
  pipelineOf(socket).run(response, run)
}

/**
 * Makes later requests of a connection wait until a stream has ended, since no response can be sent before that. Does
 * nothing over HTTP/2, where responses have no order.
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
  /** The running responses that were not next in line when their requests started. */
  readonly #running = new Set<ServerResponse>()
  /** The number of running responses that are streams. */
  #streams = 0
  #waiting: (() => void)[] = []

  constructor(socket: Socket) {
    this.#socket = socket
    socket.once('close', () => this.#close())
  }

  run(response: ServerResponse, run: () => void): void {
    // Node still parses data that it has read from a closed connection.
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
    // Node would resume the connection after each response it sends and each body it reads.
    socket.resume = () => socket
  }

  /**
   * Emits `close` for responses that were not sent yet, which Node does not do when the connection ends. Streams wait
   * for this event.
   */
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

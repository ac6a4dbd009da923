import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { ServerClosing } from '../../core/errors/coded-errors.ts'
import { OrderError } from '../../core/errors/setup-errors.ts'
import type { Application, Unavailable } from '../../core/index.ts'
import type { Given, OptionRule } from '../../core/options/option-check.ts'
import { checkOptions, OPTION, withDefaults } from '../../core/options/option-check.ts'
import { redactUrl } from '../logging/redact.ts'
import { getAnswer } from './server-sockets.ts'

/** `setup` and `teardown` of the application itself, without the server. */
type ServiceLifecycle = Pick<Application, 'setup' | 'teardown'>

/** Starts and ends the server of an application, each once. */
export class ServerLifecycle {
  readonly #instance: FastifyInstance
  readonly #services: ServiceLifecycle
  readonly #graceful: GracefulClose | null
  readonly #app: Application
  /** Set while the services are torn down, to recognize calls made by them. */
  readonly #isTearingDown = new AsyncLocalStorage<true>()
  #isStarted = false
  #isClosed = false
  #isSetUp = false

  /** @param graceful `null` for an existing server, which its owner closes */
  constructor(
    app: Application,
    instance: FastifyInstance,
    services: ServiceLifecycle,
    graceful: GracefulClose | null,
  ) {
    this.#app = app
    this.#instance = instance
    this.#services = services
    this.#graceful = graceful
    // The user may also close it directly as a Fastify server.
    instance.addHook('preClose', (done) => {
      this.#isClosed = true
      done()
    })
  }

  /**
   * Sets the services up, then listens.
   * @throws {TypeError} the server was started or closed before
   * @throws {Unavailable} the server was closed in the meantime; nothing is open then
   */
  async listen(options: FastifyListenOptions): Promise<Server> {
    if (this.#isClosed) {
      throw new OrderError('The application was closed: make a new one to listen again')
    }
    if (this.#isStarted || this.#server.listening) {
      throw new OrderError('The application listens already, or is about to')
    }
    this.#isStarted = true
    try {
      await this.#instance.ready()
      this.#checkOpen()
      await this.#instance.listen(options)
      this.#checkOpen()
    } catch (error) {
      const wasClosed = this.#isClosed
      await this.#instance.close()
      if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve))
      if (!wasClosed) warnIfRunning(this.#app)
      throw error
    }
    return this.#server
  }

  /** @throws {Unavailable} requests had to be cut off */
  async close(): Promise<void> {
    // Called by a service that is being torn down, which would wait for itself.
    if (this.#isTearingDown.getStore() === true) return
    this.#isClosed = true
    await this.#instance.close()
    const cutOff = this.#graceful?.cutOff ?? 0
    if (cutOff > 0) throw new ServerClosing(`${cutOff} requests in flight were cut off`)
  }

  /** Closes the server if it was opened, as in Feathers; tears the services down in any case. */
  async end(server?: unknown): Promise<void> {
    if (this.#isTearingDown.getStore() === true) return
    // An existing server is closed by its owner, unless it was opened here.
    const isOpen = this.#isStarted || (this.#graceful !== null && this.#server.listening)
    if (this.#isClosed) await this.#instance.close()
    else if (isOpen) await this.close()
    else return this.teardown(server)
    // The services may have been set up again in the meantime.
    if (this.#isSetUp) await this.teardown(server)
  }

  /** Sets the services up. */
  async setup(server?: unknown): Promise<void> {
    this.#isSetUp = true
    await this.#services.setup(server)
  }

  /** Tears the services down. */
  async teardown(server?: unknown): Promise<void> {
    this.#isSetUp = false
    try {
      await this.#isTearingDown.run(true, () => this.#services.teardown(server))
    } finally {
      // An active AsyncLocalStorage slows down every promise of the process.
      this.#isTearingDown.disable()
    }
  }

  get #server(): Server {
    return this.#instance.server as Server
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new ServerClosing('The application was closed while it started')
  }
}

/** How long a process may take to end after a failed start before a warning is logged, in milliseconds. */
const END_MS = 1_000

/** Standard input and output, which keep no process running. */
const STANDARD_STREAMS: readonly string[] = ['PipeWrap', 'TTYWrap', 'FSReqCallback']

/**
 * Logs a warning if the process is still running after a failed start, and names what keeps it running. The server of
 * the application is closed by then, but a database connection of the user may still be open.
 */
function warnIfRunning(app: Application): void {
  // Does not keep the process running.
  const timer = setTimeout(() => {
    const open = new Set(process.getActiveResourcesInfo())
    for (const name of STANDARD_STREAMS) open.delete(name)
    if (open.size === 0) return
    const message =
      'The start failed, and the process still runs: close what is open, a database connection for ' +
      'example, or call process.exit(1)'
    app.logger.warn({ open: [...open] }, message)
  }, END_MS)
  timer.unref()
}

/** How a server closes. */
export interface CloseOptions {
  /**
   * How long `/health/ready` returns 503 before the port closes, in milliseconds, so that a load balancer notices;
   * everything else is still served. Default: 0.
   */
  readonly closeDelayMs?: number
  /**
   * How long running requests may take, in milliseconds, before they are cut off; `Infinity` for no limit. Default:
   * 10,000.
   */
  readonly closeTimeoutMs?: number
}

const CLOSE_RULES: Readonly<Record<keyof CloseOptions, OptionRule>> = {
  closeDelayMs: {
    // With an infinite delay the server would never close.
    expected: 'a finite number from 0 on',
    isValid: (value) => OPTION.limit.isValid(value) && Number.isFinite(value),
  },
  closeTimeoutMs: OPTION.limit,
}

/** The reason why a closing server is not ready. It was told to close, so no warning is logged. */
export const CLOSING: Unavailable = new ServerClosing('The server is closing')

/** Longest delay of a Node timer, which fires after 1 ms for a longer one. */
const LONGEST_TIMER_MS = 2_147_483_647

const SWEEP_MS = 50
/** How long a connection without a request so far is kept: one may be on its way. */
const SILENCE_MS = 300
/** Whether a connection has sent a request. */
const HAS_ASKED = Symbol('remex.hasAsked')

type TrackedSocket = Socket & { [HAS_ASKED]?: boolean }

/**
 * Makes `close()` wait for requests rather than connections: a connection ends as soon as its request has its response,
 * and after the time limit in any case. Fastify itself would wait for the keep-alive timeout.
 */
export class GracefulClose {
  /** Whether the port is closed: a later request on an open connection is not handled. */
  isClosed = false
  /** The number of requests that had to be cut off. */
  cutOff = 0
  readonly #app: Application
  readonly #fastify: FastifyInstance
  readonly #options: Required<CloseOptions>
  readonly #sockets: ReadonlySet<TrackedSocket>
  #closedAt = 0
  #sweep: NodeJS.Timeout | undefined
  #force: NodeJS.Timeout | undefined

  /** @param sockets the open connections of the server */
  constructor(
    app: Application,
    fastify: FastifyInstance,
    sockets: ReadonlySet<Socket>,
    options: Given<CloseOptions>,
  ) {
    this.#app = app
    this.#fastify = fastify
    this.#sockets = sockets
    checkOptions('fastifyApp()', options, CLOSE_RULES)
    const defaults = { closeDelayMs: 0, closeTimeoutMs: 10_000 }
    this.#options = withDefaults<Required<CloseOptions>>(defaults, options)
    fastify.addHook('preClose', () => this.#begin())
    fastify.addHook('onClose', async () => {
      clearInterval(this.#sweep)
      clearTimeout(this.#force)
    })
  }

  /** Records that a connection is in use. */
  track(request: IncomingMessage): void {
    const socket: TrackedSocket = request.socket
    if (socket[HAS_ASKED] !== true) socket[HAS_ASKED] = true
  }

  async #begin(): Promise<void> {
    this.#app.readiness.set('server', () => Promise.reject(CLOSING))
    const delayMs = Math.min(this.#options.closeDelayMs, LONGEST_TIMER_MS)
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs))
    this.isClosed = true
    this.#closedAt = performance.now()
    this.#closeIdle()
    this.#sweep = setInterval(() => this.#closeIdle(), SWEEP_MS)
    const timeoutMs = Math.min(this.#options.closeTimeoutMs, LONGEST_TIMER_MS)
    this.#force = setTimeout(() => this.#closeAll(), timeoutMs)
  }

  #closeIdle(): void {
    this.#fastify.server.closeIdleConnections()
    // Browsers open connections in advance, which Node counts as idle only after their first request.
    if (performance.now() - this.#closedAt < SILENCE_MS) return
    for (const socket of this.#sockets) if (socket[HAS_ASKED] !== true) socket.destroy()
  }

  #closeAll(): void {
    const requests = [...this.#sockets]
      .flatMap((socket) => getAnswer(socket)?.req ?? [])
      .map(({ method, url }) => redactUrl(`${method} ${url}`))
    this.cutOff = requests.length
    if (requests.length > 0) {
      this.#app.logger.error({ requests }, 'Requests still in flight were cut off')
    }
    for (const socket of this.#sockets) socket.destroy()
  }
}

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Server } from 'node:http'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import type { Application } from '../../core/index.ts'
import { Unavailable } from '../../core/index.ts'
import type { GracefulClose } from './graceful-close.ts'

/** The two that an application has without a server. */
type ServiceLifecycle = Pick<Application, 'setup' | 'teardown'>

/** Starts the server of an application and ends it, each once. */
export class ServerLifecycle {
  readonly #instance: FastifyInstance
  readonly #services: ServiceLifecycle
  readonly #graceful: GracefulClose | null
  /** Whether the teardown of the services is what calls. */
  readonly #teardown = new AsyncLocalStorage<true>()
  #isStarted = false
  #isClosed = false
  #isSetUp = false

  /** @param graceful `null` for a server that somebody else made, and closes in a way of his own */
  constructor(
    instance: FastifyInstance,
    services: ServiceLifecycle,
    graceful: GracefulClose | null,
  ) {
    this.#instance = instance
    this.#services = services
    this.#graceful = graceful
    // It may be closed as Fastify's, too.
    instance.addHook('preClose', (done) => {
      this.#isClosed = true
      done()
    })
  }

  /**
   * Sets the services up, then listens.
   * @throws {TypeError} it has been started or closed before
   * @throws {Unavailable} it was closed meanwhile; nothing is open then
   */
  async listen(options: FastifyListenOptions): Promise<Server> {
    if (this.#isClosed) {
      throw new TypeError('The application was closed: make a new one to listen again')
    }
    if (this.#isStarted || this.#server.listening) {
      throw new TypeError('The application listens already, or is about to')
    }
    this.#isStarted = true
    try {
      await this.#instance.ready()
      this.#checkOpen()
      await this.#instance.listen(options)
      this.#checkOpen()
    } catch (error) {
      await this.#instance.close()
      if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve))
      throw error
    }
    return this.#server
  }

  /** @throws {Unavailable} requests had to be cut off */
  async close(): Promise<void> {
    // Told by a service on its way down: to wait for the end would be to wait for itself.
    if (this.#teardown.getStore() === true) return
    this.#isClosed = true
    await this.#instance.close()
    const cutOff = this.#graceful?.cutOff ?? 0
    if (cutOff > 0) throw new Unavailable(`${cutOff} requests in flight were cut off`)
  }

  /** Closes the server if it was opened, as in Feathers; tears the services down in any case. */
  async teardown(server?: unknown): Promise<void> {
    if (this.#teardown.getStore() === true) return
    if (this.#isClosed) await this.#instance.close()
    else if (this.#isOpen) await this.close()
    else return this.tearDownServices(server)
    // They may have been set up again since.
    if (this.#isSetUp) await this.tearDownServices(server)
  }

  async setUpServices(server?: unknown): Promise<void> {
    this.#isSetUp = true
    await this.#services.setup(server)
  }

  async tearDownServices(server?: unknown): Promise<void> {
    this.#isSetUp = false
    try {
      await this.#teardown.run(true, () => this.#services.teardown(server))
    } finally {
      // It slows down every promise of the process.
      this.#teardown.disable()
    }
  }

  get #server(): Server {
    return this.#instance.server as Server
  }

  /** A server of somebody else's is closed by whoever made it listen. */
  get #isOpen(): boolean {
    return this.#isStarted || (this.#graceful !== null && this.#server.listening)
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Unavailable('The application was closed while it started')
  }
}

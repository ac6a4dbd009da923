import { AsyncLocalStorage } from 'node:async_hooks'
import type { Server } from 'node:http'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import type { Application } from '../../core/index.ts'
import { Unavailable } from '../../core/index.ts'
import type { GracefulClose } from './graceful-close.ts'

/** `setup` and `teardown` of the application itself, without the server. */
type ServiceLifecycle = Pick<Application, 'setup' | 'teardown'>

/** Starts the server of an application and ends it, each once. */
export class ServerLifecycle {
  readonly #instance: FastifyInstance
  readonly #services: ServiceLifecycle
  readonly #graceful: GracefulClose | null
  /** Set while the services are torn down, to recognise calls that come from there. */
  readonly #teardown = new AsyncLocalStorage<true>()
  #isStarted = false
  #isClosed = false
  #isSetUp = false

  /** @param graceful `null` for an existing server, which its owner closes */
  constructor(
    instance: FastifyInstance,
    services: ServiceLifecycle,
    graceful: GracefulClose | null,
  ) {
    this.#instance = instance
    this.#services = services
    this.#graceful = graceful
    // The user may also close it as a Fastify server.
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
    // Called by a service that is being torn down, which would wait for itself.
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
    // The services may have been set up again in the meantime.
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
      // An active AsyncLocalStorage slows down every promise of the process.
      this.#teardown.disable()
    }
  }

  get #server(): Server {
    return this.#instance.server as Server
  }

  /** An existing server is closed by its owner, unless it was opened here. */
  get #isOpen(): boolean {
    return this.#isStarted || (this.#graceful !== null && this.#server.listening)
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new Unavailable('The application was closed while it started')
  }
}

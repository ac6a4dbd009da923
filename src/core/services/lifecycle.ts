import { HookError } from '../errors/setup-errors.ts'
import type { Surrounded } from '../hooks/around-hooks.ts'
import { composeAround } from '../hooks/around-hooks.ts'
import type { HookApplication } from '../hooks/hook-context.ts'
import type { LifecycleContext, LifecycleHook, LifecycleMethod } from '../hooks/hook-map.ts'
import { isHookType } from '../hooks/hook-registry.ts'
import { isObject } from '../value-kind.ts'
import type { EntrySchemas } from './service-schemas.ts'

type RunningLifecycle = LifecycleContext & Pick<Surrounded, 'isSurrounded'>

/** Schemas, which have to be loaded before a service is called. */
type Schemas = Pick<EntrySchemas, 'load'>

interface WithLifecycle {
  setup?(app: HookApplication, path: string): unknown
  teardown?(app: HookApplication, path: string): unknown
}

interface Registered {
  readonly service: WithLifecycle
  readonly schemas: Schemas | null
  /** Settles with `setup` of the service. Absent before the first `setup`, and after a failed one. */
  started?: Promise<void>
  isDown: boolean
}

/**
 * Runs `setup` of the services in the order of their registration and `teardown` in the reverse order, each
 * once. A service added after the start is set up at once. A service with a `setup` is torn down only if that
 * succeeded.
 */
export class ServiceLifecycle {
  readonly #app: HookApplication
  readonly #registered = new Map<string, Registered>()
  readonly #hooks: Record<LifecycleMethod, LifecycleHook[]> = { setup: [], teardown: [] }
  #isStarted = false

  constructor(app: HookApplication) {
    this.#app = app
  }

  /** Whether `setup` was called, and no `teardown` since. */
  get isStarted(): boolean {
    return this.#isStarted
  }

  /** Takes hooks around `setup` and `teardown`. Returns whether the options hold such hooks. */
  addHooks(options: unknown): boolean {
    if (!isObject(options)) return false
    const names = Object.keys(options)
    const isLifecycle = (name: string): name is LifecycleMethod => Object.hasOwn(this.#hooks, name)
    if (names.some(isHookType) || !names.some(isLifecycle)) return false
    const additions = names.map((name) => {
      const hooks = [options[name]].flat()
      if (!isLifecycle(name)) {
        throw new HookError(`'${name}' is not a lifecycle method: setup, teardown`)
      }
      if (hooks.some((hook) => typeof hook !== 'function')) {
        throw new HookError(`The ${name} hooks of the application must be functions`)
      }
      return [name, hooks as LifecycleHook[]] as const
    })
    for (const [name, hooks] of additions) this.#hooks[name].push(...hooks)
    return true
  }

  /** Registers a service; after the start it is set up at once, and a failure is logged. */
  add(path: string, service: object, schemas: Schemas | null): void {
    const registered: Registered = { service, schemas, isDown: false }
    this.#registered.set(path, registered)
    if (!this.#isStarted) return
    this.#start(path, registered).catch((error: unknown) => {
      this.#app.logger.error({ err: error, path }, 'The setup of a service failed')
    })
  }

  /** Tears one service down, if it was set up, and forgets it. */
  async remove(path: string): Promise<void> {
    const registered = this.#registered.get(path)
    this.#registered.delete(path)
    if (registered !== undefined) await this.#stop(path, registered)
  }

  /** Rejects with the error of the first failing `setup`; the services after it are not started. */
  setup(server: unknown): Promise<void> {
    return this.#runHooked('setup', server, async () => {
      this.#isStarted = true
      for (const [path, registered] of this.#registered) {
        if (!this.#isStarted) return
        await this.#start(path, registered)
      }
    })
  }

  /** Rejects with the first error, after all services were torn down; other errors are logged. */
  teardown(server: unknown): Promise<void> {
    return this.#runHooked('teardown', server, async () => {
      this.#isStarted = false
      const failures: { path: string; err: unknown }[] = []
      for (const [path, registered] of [...this.#registered].reverse()) {
        await this.#stop(path, registered).catch((err: unknown) => failures.push({ path, err }))
      }
      const [first, ...others] = failures
      for (const failure of others) {
        this.#app.logger.error(failure, 'The teardown of a service failed')
      }
      if (first !== undefined) throw first.err
    })
  }

  async #runHooked(
    method: LifecycleMethod,
    server: unknown,
    run: (context: LifecycleContext) => Promise<void>,
  ): Promise<void> {
    const app = this.#app
    let isReached = false
    const inner = (context: LifecycleContext): Promise<void> => {
      isReached = true
      return run(context)
    }
    const context: RunningLifecycle = { app, self: app, method, server, isSurrounded: false }
    Object.defineProperty(context, 'isSurrounded', { enumerable: false })
    await composeAround<RunningLifecycle>(this.#hooks[method], inner)(context)
    if (isReached) return
    app.logger.warn({}, `No ${method} of a service ran: a ${method} hook must await next()`)
  }

  #start(path: string, registered: Registered): Promise<void> {
    registered.isDown = false
    const { service, schemas } = registered
    const setUp = async (): Promise<void> => {
      if (schemas !== null) await schemas.load()
      await service.setup?.(this.#app, path)
    }
    registered.started ??= setUp().catch((error) => {
      delete registered.started
      throw error
    })
    return registered.started
  }

  async #stop(path: string, registered: Registered): Promise<void> {
    const { service, started, isDown } = registered
    delete registered.started
    registered.isDown = true
    if (isDown) return
    const isUp = await started?.then(
      () => true,
      () => false,
    )
    if (isUp ?? service.setup === undefined) await service.teardown?.(this.#app, path)
  }
}

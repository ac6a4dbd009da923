import { AsyncResource, createHook } from 'node:async_hooks'
import type { AnyServices } from '../../core/index.ts'
import { Application } from '../../core/index.ts'
import type { ServerSupport } from '../../core/services/method-entry.ts'
import { createSupport } from '../transport-features.ts'

/**
 * Returns a new application. `Services` maps each path to its service and types everything else:
 * `createApp<{ users: UserService }>().service('users').get(id)`. Its services may have schemas.
 */
export function createServerApp<
  Services = AnyServices,
  Settings = Record<string, unknown>,
>(): Application<Services, Settings> {
  const support: ServerSupport & HeldTick = Object.assign(createSupport(), {
    heldTick: createTickObject(),
  })
  return new Application<Services, Settings>(support)
}

/** Made while the module loads: the context of a caller must not be held with the object. */
const OUTSIDE = new AsyncResource('RemexTick')

/** What an application holds for as long as it lives, to keep `process.nextTick` fast. */
interface HeldTick {
  readonly heldTick: object | undefined
}

/**
 * Returns the object of a tick. While one is alive, `process.nextTick` stays as fast as it is at the start of a
 * process. Node makes an object with computed names for each tick, eight for a request. A full garbage collection
 * that meets none of them drops their hidden classes, and V8 makes each later one by calls into its runtime.
 * `bench ticks` measures it.
 */
function createTickObject(): object | undefined {
  let made: object | undefined
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') made = resource
    },
  })
  hook.enable()
  OUTSIDE.runInAsyncScope(() => process.nextTick(() => undefined))
  hook.disable()
  return made
}

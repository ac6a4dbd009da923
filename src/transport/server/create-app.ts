import { AsyncResource, createHook } from 'node:async_hooks'
import type { AnyServices } from '../../core/index.ts'
import { Application } from '../../core/index.ts'
import type { ServerSupport } from '../../core/services/method-entry.ts'
import { createSupport } from '../transport-features.ts'

/**
 * Returns a new application. `Services` maps each path to its service and types everything else: `createApp<{ users:
 * UserService }>().service('users').get(id)`. Its services may have schemas.
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

/** Created while the module loads, so that the object does not hold the context of a caller. */
const OUTSIDE = new AsyncResource('RemexTick')

/** The object that an application holds all its life to keep `process.nextTick` fast. */
interface HeldTick {
  readonly heldTick: object | undefined
}

/**
 * Returns the object of a tick. While one is alive, `process.nextTick` stays as fast as at the start of a process. Node
 * creates an object with computed names for each tick, eight per request. If a full garbage collection finds none of
 * them, it drops their hidden classes, and V8 creates each later one by calls into its runtime. `bench ticks` measures
 * it.
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

import { AsyncResource, createHook } from 'node:async_hooks'
import { SERVER_SUPPORT } from '../../core/create-app.ts'
import type { AnyServices } from '../../core/index.ts'
import { Application } from '../../core/index.ts'
import { attachSchemas } from '../../core/schema/service/lazy-schemas.ts'
import { isObserved, observe, traceHooks } from '../observing/call-channel.ts'

/**
 * Returns a new application. `Services` maps each path to its service and types everything else:
 * `createApp<{ users: UserService }>().service('users').get(id)`. Its services may have schemas.
 */
export function createServerApp<
  Services = AnyServices,
  Settings = Record<string, unknown>,
>(): Application<Services, Settings> {
  holdTickObject()
  return new Application<Services, Settings>({
    ...SERVER_SUPPORT,
    attachSchemas,
    traceHooks,
    observe,
    get isObserved() {
      return isObserved()
    },
  })
}

/** Made while the module loads: the context of a caller must not be held with the object. */
const OUTSIDE = new AsyncResource('RemexTick')

let heldTick: object | undefined

/**
 * Keeps `process.nextTick` as fast as it is at the start of a process. Node makes an object with
 * computed names for each tick, eight for a request. A full garbage collection that meets none of
 * them drops their hidden classes, and V8 makes each later one by calls into its runtime. One
 * object that stays alive keeps the classes. `bench ticks` measures it.
 */
function holdTickObject(): void {
  if (heldTick !== undefined) return
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      if (type === 'TickObject') heldTick = resource
    },
  })
  hook.enable()
  OUTSIDE.runInAsyncScope(() => process.nextTick(() => undefined))
  hook.disable()
}

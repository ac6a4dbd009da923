import { HookError } from '../errors/setup-errors.ts'
import type { StoredHook } from '../hooks/hook-registry.ts'
import { hasMethod } from '../value-kind.ts'

/** The property in which `@feathersjs/hooks` keeps the hooks of a class or a function. */
const HOOKS: unique symbol = Symbol.for('@feathersjs/hooks')

/** The hooks of a class or function, including inherited ones. */
interface PackageHooks {
  getMiddleware(): StoredHook[] | null
  getParams(): readonly string[] | null
  getProps(): object | null
  getDefaults(self: unknown, args: unknown[], context: object): object | null
}

interface WithPackageHooks {
  readonly [HOOKS]?: PackageHooks
}

type ServiceFunction = (...args: unknown[]) => unknown

type WrappedFunction = ServiceFunction & WithPackageHooks & { readonly original?: ServiceFunction }

/** A function of a service, and the hooks that run around it. */
export interface HookedFunction {
  readonly original: ServiceFunction
  readonly hooks: readonly StoredHook[]
}

/**
 * Whether `@feathersjs/hooks` has put hooks around a method that need the context of the call. A method that
 * names its arguments creates its own context, like the methods of a service in a Feathers application: it
 * stays as it is.
 */
export function hasPackageHooks(service: WithPackageHooks, fn: WrappedFunction): boolean {
  return findManagers(service, fn).length > 0 && fn[HOOKS]?.getParams() == null
}

/**
 * Returns the function inside the hooks of `@feathersjs/hooks`, and these hooks, including those of its
 * class.
 * @throws {TypeError} the hooks need more than the context of a call has
 */
export function readPackageHooks(
  path: string,
  service: WithPackageHooks,
  name: string,
): HookedFunction {
  const fn = (service as Record<string, WrappedFunction>)[name] as WrappedFunction
  const managers = findManagers(service, fn)
  for (const manager of managers) {
    const { method: _, ...props } = { ...manager.getProps() } as Record<string, unknown>
    const isSimple = Object.keys(props).length === 0 && !manager.getDefaults(service, [], {})
    if (isSimple) continue
    throw new HookError(
      `The hooks of @feathersjs/hooks around '${name}' of service '${path}' cannot have props or defaults: they get the context of the service`,
    )
  }
  const hooks = managers.flatMap((manager) => manager.getMiddleware() ?? [])
  // Other packages also use this name for wrapped functions: only the one of this package is unwrapped.
  const wrapped = fn[HOOKS] === undefined ? undefined : fn.original
  return { original: wrapped ?? fn, hooks }
}

/** A proxy may return something for any name. */
function findManagers(service: WithPackageHooks, fn: WrappedFunction): PackageHooks[] {
  const managers = [service[HOOKS], fn[HOOKS]]
  return managers.filter(
    (one) => one !== undefined && hasMethod(one, 'getMiddleware'),
  ) as PackageHooks[]
}

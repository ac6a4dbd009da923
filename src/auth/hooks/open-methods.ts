import { metadataOf } from '../../core/function-metadata.ts'
import type { HookRegistry } from '../../core/hooks/hook-registry.ts'
import { listEarlyHooks, listOwnEarlyHooks } from '../../core/hooks/hook-registry.ts'
import type { Application, ServiceEntry } from '../../core/index.ts'
import { findServiceEntry } from '../../core/index.ts'
import { isProduction } from '../../core/node-env.ts'
import { seekAuthentication } from '../default-authentication.ts'
import type { RequiredProof } from '../method-description.ts'
import { describeMethod } from '../method-description.ts'

/**
 * Returns the proof that external callers of a method need, `null` if anyone may call it.
 * @param functions run before the hooks and may check callers too
 */
export function findRequiredProof(
  entry: ServiceEntry,
  method: string,
  functions: readonly object[] = [],
): RequiredProof | null {
  const hooks = listEarlyHooks(entry, method)
  const own = describeMethod(entry, method)?.proof
  return toRequiredProof(entry.app as Application, [...functions, ...hooks], own)
}

/**
 * Returns the proof that callers need to pass functions such as hooks, `null` if none is needed. A call must pass all
 * of them, so the result lists the strategies that all of them accept.
 * @param own is checked after the functions
 */
export function toRequiredProof(
  app: Application,
  functions: readonly object[],
  own?: RequiredProof,
): RequiredProof | null {
  const proofs = functions.flatMap((fn): RequiredProof[] => {
    const { strategies, authentication } = metadataOf(fn)
    if (strategies === undefined) return []
    return [{ strategies, authentication: seekAuthentication(app, authentication) }]
  })
  const [first, ...others] = own === undefined ? proofs : [...proofs, own]
  if (first === undefined) return null
  const isAccepted = (name: string): boolean =>
    others.every(({ strategies }) => strategies.includes(name))
  return { ...first, strategies: first.strategies.filter(isAccepted) }
}

/** Marks a service as checked: it may have many `authenticate` hooks. */
const LOOKED_AT = Symbol('remex.openMethods')

/** Methods that change existing records. */
const CHANGING: readonly string[] = ['update', 'patch', 'remove']

/** If one of these has the hook, the others are expected to have it too. */
const WRITING: readonly string[] = ['create', ...CHANGING]

/**
 * Warns, except with `NODE_ENV=production`, of external methods that change records and lack a hook that may reject
 * callers, if `create` or another of them has the `authenticate` hook. Usually `update` was forgotten. `create` itself
 * is often open on purpose, for example to sign up.
 */
export function warnOfOpenMethods(service: object): void {
  const entry = findServiceEntry(service)
  if (entry === undefined || entry.attachments.has(LOOKED_AT) || isProduction()) return
  entry.attachments.set(LOOKED_AT, true)
  const { app, hooks, methods, path } = entry
  if (isGuarded(app.hookRegistry, 'all') || isGuarded(hooks, 'all')) return
  const isExternal = (name: string): boolean => methods.get(name)?.external === true
  const passes = (name: string): boolean =>
    listOwnEarlyHooks(hooks, name).every((hook) => metadataOf(hook).refusesNobody === true)
  const guarded = WRITING.filter((name) => isExternal(name) && isGuarded(hooks, name))
  const open = CHANGING.filter((name) => isExternal(name) && passes(name))
  if (guarded.length === 0 || open.length === 0) return
  const names = new Intl.ListFormat('en-GB')
  const [lack, them] = open.length === 1 ? ['lacks', 'it'] : ['lack', 'them']
  app.logger.warn(
    { service: path },
    `Of '${path}', ${names.format(open)} ${lack} the authenticate hook of ${names.format(guarded)}: unless a hook for all methods rejects callers, anyone may call ${them}. Add the hook, or leave ${them} out of the option methods`,
  )
}

function isGuarded(registry: HookRegistry, name: string): boolean {
  return listOwnEarlyHooks(registry, name).some((hook) => metadataOf(hook).strategies !== undefined)
}

import type { HookContext } from '../../core/hook-context.ts'

/** The properties of a context at one moment. */
export type SavedContext = Readonly<Record<string, unknown>>

/** Returns the properties of a context, to be restored before a call is run again. */
export function saveContext(context: HookContext): SavedContext {
  return { ...context.toObject(), http: copyHttp(context.http) }
}

/**
 * Gives a context the properties that were saved, and takes those that came later. What hooks have
 * changed inside of `data`, `params` or the like stays changed.
 */
export function restoreContext(context: HookContext, saved: SavedContext): void {
  for (const name of Object.keys(context)) {
    if (!Object.hasOwn(saved, name)) Reflect.deleteProperty(context, name)
  }
  Object.assign(context, saved, { http: copyHttp(saved['http'] as HookContext['http']) })
}

/** Hooks write into it, rather than to replace it. */
function copyHttp(http: HookContext['http']): HookContext['http'] {
  return { ...http, ...(http.headers === undefined ? {} : { headers: { ...http.headers } }) }
}

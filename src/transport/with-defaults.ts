/** Some of the options of a kind; an option that is `undefined` is one that is not given. */
export type Given<T> = { readonly [Name in keyof T]?: T[Name] | undefined }

/** Returns defaults with what is given in their place; `undefined` switches no default off. */
export function withDefaults<T extends object>(defaults: T, given: Given<T>): T {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(entries) }
}

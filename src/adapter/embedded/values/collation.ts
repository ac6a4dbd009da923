/** How strings are compared where a collation is given. */
export interface Collation {
  readonly compare: (a: string, b: string) => number
  /** Returns one and the same string for all strings that are equal under the collation. */
  readonly canonical: (value: string) => string
}

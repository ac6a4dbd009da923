// Files in this folder are checked by the compiler and never run. A line under `@ts-expect-error` has
// to be an error; one without it has to be none.

type IsSame<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false

/** `expectType<User>()(value)` compiles only if the value has exactly this type. */
export declare function expectType<Expected>(): <Actual>(
  value: IsSame<Actual, Expected> extends true ? Actual : never,
) => void

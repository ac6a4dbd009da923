/** The part of React that is used here. Its types are a separate package, with a version for each React. */
declare module 'react' {
  export function useEffect(
    effect: () => (() => void) | undefined,
    values: readonly unknown[],
  ): void
  export function useMemo<T>(create: () => T, values: readonly unknown[]): T
  export function useState<T>(first: T): [T, (next: (before: T) => T) => void]
}

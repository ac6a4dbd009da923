/** As much of React as is used here: its types are a package of their own, of another version for each React. */
declare module 'react' {
  export function useEffect(
    effect: () => (() => void) | undefined,
    values: readonly unknown[],
  ): void
  export function useMemo<T>(create: () => T, values: readonly unknown[]): T
  export function useState<T>(first: T): [T, (next: (before: T) => T) => void]
}

import { MAX_TIMER_MS } from './live-query.ts'

/**
 * Calls a function with `true` when the page of a browser has been hidden for a time, and with `false` when it is shown.
 * Returns what ends this.
 */
export function followHidden(hiddenMs: number, tell: (isHidden: boolean) => void): () => void {
  const page = globalThis as { document?: EventTarget & { visibilityState?: string } }
  const document = page.document ?? new EventTarget()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = (): void => {
    clearTimeout(timer)
    if (page.document?.visibilityState !== 'hidden') tell(false)
    else timer = setTimeout(tell, Math.min(hiddenMs, MAX_TIMER_MS), true)
  }
  look()
  document.addEventListener('visibilitychange', look)
  return () => {
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  }
}

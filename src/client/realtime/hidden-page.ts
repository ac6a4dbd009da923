import { MAX_TIMER_MS } from '../answers/time-limit.ts'

/**
 * Calls a function with `true` when the page of a browser has been hidden for a while, and with `false` when it is
 * shown. Returns a function that stops this.
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

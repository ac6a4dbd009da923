import type { Headers } from './params.ts'

/** What proxies add to a request. */
const PROXY_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

/** Whether a proxy has handed a request on: its host and its address say nothing of who asks then. */
export function isProxied(headers: Headers): boolean {
  return PROXY_HEADERS.some((name) => headers[name] !== undefined)
}

import type { Headers } from './params.ts'

/** What proxies add to a request. */
const PROXY_HEADERS = [
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
  ...['x-real-ip', 'via'],
]

/** Whether the process runs for a developer: `NODE_ENV` is `development`. Without `NODE_ENV` it does not. */
export function isDevelopment(): boolean {
  // Browsers have no `process`.
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.['NODE_ENV'] === 'development'
}

/**
 * Whether a request comes from the developer of the application: `NODE_ENV` is `development`, the request names
 * this machine as its host, and no proxy has added a header. Headers alone prove nothing: by default, nginx adds
 * none, and passes on its own address of the application as the host.
 */
export function isOfDeveloper(headers: Headers): boolean {
  const url = `http://${headers['host']}`
  return (
    isDevelopment() &&
    URL.canParse(url) &&
    isLocalHost(new URL(url).hostname) &&
    PROXY_HEADERS.every((name) => headers[name] === undefined)
  )
}

/** Whether a host name, as `URL` has it, is one of this machine. */
export function isLocalHost(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

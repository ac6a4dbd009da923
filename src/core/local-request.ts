import { isDevelopment } from './node-env.ts'
import type { Headers } from './params.ts'

/** Headers that proxies add to a request. */
const PROXY_HEADERS = [
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
  ...['x-real-ip', 'via'],
]

/**
 * Whether a request comes from the developer of the application: `NODE_ENV` is `development`, the `Host` is
 * this machine, and no proxy has added a header. Headers on their own prove nothing: by default, nginx adds
 * none, and sends the address of the upstream as `Host`.
 */
export function isFromDeveloper(headers: Headers): boolean {
  const url = `http://${headers['host']}`
  return (
    isDevelopment() &&
    URL.canParse(url) &&
    isLocalHost(new URL(url).hostname) &&
    PROXY_HEADERS.every((name) => headers[name] === undefined)
  )
}

/** Whether a host name, as in `URL`, is one of this machine. */
export function isLocalHost(hostname: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname)
}

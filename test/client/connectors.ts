import type { ConnectionOptions, RestConnection } from '../../src/client/index.ts'
import { rest } from '../../src/client/index.ts'

/** Returns a connection to the server at a URL. */
type Connect = (url: string, options?: ConnectionOptions) => RestConnection

/** Every HTTP library that a server can be reached by: a suite runs once for each. */
export const CONNECTORS: Readonly<Record<string, Connect>> = {
  ofetch: (url, options) => rest(url).ofetch(options),
  fetch: (url, options) => rest(url).fetch(fetch, options),
}

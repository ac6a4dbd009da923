import { authentication, createClient } from 'remex/client'
import { realtime } from 'remex/client/realtime'
import type { Services } from './app.ts'

/**
 * Returns what calls the services from elsewhere: a page, a test, another program. It takes the types
 * of the server and none of its code.
 */
export function createApiClient(baseURL: string) {
  const client = createClient<Services>({ baseURL })
  // `client.authenticate()` logs in. The token is kept in memory unless there is a `storage`.
  client.configure(authentication())
  // Services have `live()`, a list that is kept current, and `subscribe()`.
  client.configure(realtime())
  return client
}

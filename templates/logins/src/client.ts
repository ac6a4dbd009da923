import { authentication, createClient } from 'remex/client'
import { realtime } from 'remex/client/realtime'
import type { Services } from './app.ts'

/**
 * Returns a typed client of the API for a page, a test or another program. It imports the server's types, but
 * none of its code.
 */
export function createApiClient(baseURL: string) {
  const client = createClient<Services>({ baseURL })
  // `client.authenticate()` logs in. The token is kept in memory unless there is a `storage`.
  client.configure(authentication())
  // Adds `live()`, a list that stays current, and `subscribe()` to services.
  client.configure(realtime())
  return client
}

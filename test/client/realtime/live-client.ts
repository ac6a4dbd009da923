import type { Client, ClientOptions } from '../../../src/client/index.ts'
import { createClient } from '../../../src/client/index.ts'
import type { RealtimeOptions } from '../../../src/client/realtime/index.ts'
import { realtime } from '../../../src/client/realtime/index.ts'
import type { TestScope } from '../../support/http.ts'

/** Returns a client with live queries, which connects again at once, until the end of the test. */
export function connect(
  t: Pick<TestScope, 'teardown'>,
  baseURL: string,
  options: RealtimeOptions = {},
  clientOptions: ClientOptions<Readonly<Record<string, readonly string[]>>> = {},
): Client {
  const client = createClient({ baseURL, ...clientOptions })
  // A service that is removed has no streams any more.
  t.teardown(() => Promise.all([...client.entries.keys()].map((path) => client.unuse(path))))
  return client.configure(realtime({ reconnectMs: 1, maxReconnectMs: 1, ...options }))
}

/** Resolves to the next values of a loop. */
export async function take<T>(events: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < count) taken.push((await events.next()).value)
  return taken
}

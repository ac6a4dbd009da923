import type { MongoClientOptions } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { TestScope } from './http.ts'

/**
 * Resolves to a connected client that soon gives up on a server that is gone: after 100 ms, or after twice
 * that and so on, since it has to connect within the same time, however busy the machine is.
 */
export async function openImpatientClient(
  t: Pick<TestScope, 'teardown'>,
  url: string,
  options: MongoClientOptions = {},
): Promise<MongoClient> {
  for (let limit = 100; ; limit *= 2) {
    const client = new MongoClient(url, { serverSelectionTimeoutMS: limit, ...options })
    try {
      await client.connect()
      t.teardown(() => client.close())
      return client
    } catch {
      await client.close()
    }
  }
}

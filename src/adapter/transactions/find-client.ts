import type { MongoClient } from 'mongodb'

import type { AnyApplication } from '../../core/app.ts'
import { HooklessService } from '../hookless-service.ts'

/** Resolves to the client of a service, `undefined` where it is none on a collection. */
export async function findClientOf(service: object): Promise<MongoClient | undefined> {
  return service instanceof HooklessService ? (await service.getModel()).db.client : undefined
}

/**
 * Resolves to the client of all MongoDB services of an application.
 * @throws {TypeError} there is no such service, or they are of several clients; names the option
 */
export async function findClient({ entries }: AnyApplication): Promise<MongoClient> {
  const found = await Promise.all([...entries.values()].map(({ service }) => findClientOf(service)))
  const [client, ...others] = new Set(found.filter((one) => one !== undefined))
  if (client !== undefined && others.length === 0) return client
  const reason =
    client === undefined
      ? 'the application has no MongoDB service'
      : `the services of the application are of ${others.length + 1} clients`
  throw new TypeError(`transaction(): the option 'client' is required, since ${reason}`)
}

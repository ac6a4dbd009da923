import type { Application, ServiceEntry } from '../../core/index.ts'
import type { MethodSchemas } from '../../core/service-schemas.ts'

/** Loads the schemas of all services, after which {@link readSchemas} returns them. */
export async function loadSchemas({ entries }: Pick<Application, 'entries'>): Promise<void> {
  await Promise.all([...entries.values()].map((entry) => entry.schemas?.load()))
}

/** Returns the schemas of a method as they hold over HTTP, `undefined` for a service without any. */
export function readSchemas(entry: ServiceEntry, method: string): MethodSchemas | undefined {
  return entry.schemas?.toMethodSchemas(method)
}

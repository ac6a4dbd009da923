import type { ServiceEntry } from '../../core/index.ts'
import type { MethodSchemas } from '../../core/services/service-schemas.ts'

/** A service whose schemas can not be compiled. */
export interface LoadFailure {
  readonly path: string
  readonly error: unknown
}

/**
 * Loads the schemas of services, after which {@link readSchemas} returns them. Resolves to the services
 * for which it will not.
 */
export async function loadSchemas(
  entries: Iterable<readonly [path: string, entry: ServiceEntry]>,
): Promise<readonly LoadFailure[]> {
  const loading = [...entries].map(async ([path, { schemas }]): Promise<LoadFailure[]> => {
    try {
      await schemas?.load()
      return []
    } catch (error) {
      return [{ path, error }]
    }
  })
  return (await Promise.all(loading)).flat()
}

/** Returns the schemas of a method as they hold over HTTP, `undefined` for a service without any. */
export function readSchemas(entry: ServiceEntry, method: string): MethodSchemas | undefined {
  return entry.schemas?.toMethodSchemas(method)
}

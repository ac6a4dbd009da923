import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestScope } from './http.ts'

/** Where a server can listen later on, or again: nobody else takes the place meanwhile. */
interface SocketPath {
  readonly path: string
  /** The URL of a MongoDB that listens there. */
  readonly url: string
}

/** Returns the path of a Unix socket in a folder of its own, which is removed after the test. */
export function createSocketPath(t: Pick<TestScope, 'teardown'>): SocketPath {
  const folder = mkdtempSync(join(tmpdir(), 'remex-socket-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'mongo.sock')
  return { path, url: `mongodb://${encodeURIComponent(path)}/?directConnection=true` }
}

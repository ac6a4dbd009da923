import cluster from 'node:cluster'
import {
  CollectionRevocationList,
  CollectionThrottleStore,
  MemoryRevocationList,
  MemoryThrottleStore,
} from '../../../src/auth/index.ts'
import { createLoginApp } from '../login-app.ts'

/** Nobody logs in here. */
const NO_COLLECTION = {} as never

const SETTINGS: Readonly<Record<string, object>> = {
  default: {},
  memory: {
    loginThrottle: { store: new MemoryThrottleStore() },
    revocation: new MemoryRevocationList(),
  },
  'revocation alone': { loginThrottle: false, revocation: true },
  shared: {
    loginThrottle: { store: new CollectionThrottleStore(NO_COLLECTION) },
    revocation: new CollectionRevocationList(NO_COLLECTION),
  },
}

// Started by configuration-check.test.ts: sends what is logged at the start with each of the settings.
if (cluster.isWorker) {
  const logs: Record<string, unknown> = {}
  for (const [name, settings] of Object.entries(SETTINGS)) {
    const { app, log } = createLoginApp({ settings })
    await app.setup()
    logs[name] = log.map(({ level, details, message }) => ({ level, ...details, message }))
  }
  process.send?.(logs)
  process.disconnect()
}

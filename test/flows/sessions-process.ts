// The services of examples/sessions.ts in a process of their own, for tests that end processes. Prints its
// port when it is ready. The argument is JSON: `{ url, name, secret, skewMs }`, where the name is that of the
// database, and the clock of the process is wrong by `skewMs`. A request with the header `x-lose-answer` is carried out, and its connection closed instead of
// an answer. `GET /reuses` answers what the process has told about copied tokens since the last such request.
import type { AddressInfo } from 'node:net'
import { MongoClient } from 'mongodb'
import type { FastifyApplication } from 'remex'
import { LocalStrategy } from 'remex/auth'
import { createAccounts } from '../../examples/sessions.ts'
import { CHEAP_SCRYPT } from '../support/users.ts'

const { url, name, secret, skewMs = 0 } = JSON.parse(process.argv[2] ?? '{}')

const RightDate = Date
globalThis.Date = class extends RightDate {
  constructor(...values: [] | [number | string]) {
    if (values.length === 0) super(RightDate.now() + skewMs)
    else super(...values)
  }

  static override now(): number {
    return RightDate.now() + skewMs
  }
} as DateConstructor

const client = await MongoClient.connect(url)
const accounts = createAccounts(client.db(name), secret)
const app = accounts as unknown as FastifyApplication
// Refused refreshes are what the tests are about.
app.logger = { error: console.error, warn: () => undefined, info: () => undefined }
const { local, ...others } = app.get('authentication') as Record<string, object>
app.set('authentication', {
  ...others,
  local: { ...local, scrypt: CHEAP_SCRYPT },
  loginThrottle: { maxAttempts: 1_000_000 },
  // No machine is so slow that a repeated request comes later: a test sets the clock back instead.
  sessions: { service: 'sessions', graceMs: 3_600_000 },
})
// Another one, as it makes its hashes by the settings that it was registered with.
accounts.service('authentication').register('local', new LocalStrategy())

const reuses: unknown[] = []
app.on('reuse', (reuse: unknown) => void reuses.push(reuse))
app.use('reuses', { find: async () => reuses.splice(0) })

app.server.prependListener('request', (request, response) => {
  if (request.headers['x-lose-answer'] === undefined) return
  response.writeHead = () => {
    request.socket.destroy()
    return response
  }
})

const server = await app.listen(0)
console.log((server.address() as AddressInfo).port)

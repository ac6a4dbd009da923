// The services of examples/scaling.ts in a process of their own, for tests that end processes. Prints
// its port when it is ready. The argument is JSON: `{ url, secret, settings }`, where the settings go
// over those of the authentication.
import type { AddressInfo } from 'node:net'
import { MongoClient } from 'mongodb'
import { createApp, fastifyApp, rest } from 'remex'
import { LocalStrategy } from 'remex/auth'
import type { NoteServices } from '../../examples/scaling.ts'
import { addLogins, addNotes } from '../../examples/scaling.ts'

const { url, secret, settings } = JSON.parse(process.argv[2] ?? '{}')

const client = await MongoClient.connect(url)
const db = client.db('notes')
const app = fastifyApp(createApp<NoteServices>()).configure(rest())
// Refused logins are what the tests are about.
app.logger = { error: console.error, warn: () => undefined, info: () => undefined }
addLogins(app, db, secret)
const { loginThrottle, local, ...others } = app.get('authentication') as Record<string, object>
app.set('authentication', {
  ...others,
  local: { ...local, ...settings.local },
  loginThrottle: { ...loginThrottle, ...settings.loginThrottle },
})
// Another one, as it makes its hashes by the settings that it was registered with.
app.service('authentication').register('local', new LocalStrategy())
addNotes(app, db)

const server = await app.listen(0)
console.log((server.address() as AddressInfo).port)

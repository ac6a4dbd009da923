import authenticationClient, { MemoryStorage } from '@feathersjs/authentication-client'
import { feathers } from '@feathersjs/feathers'
import restClient from '@feathersjs/rest-client'
import t from 'tap'
import { openDatabase } from '../../support/database.ts'
import { ADA, startSessions } from '../../support/session-server.ts'

const database = await openDatabase(t)

for (const cookie of [false, true]) {
  const place = cookie ? 'in a cookie' : 'in the answer'
  t.test(`the official client logs in and out, with a refresh token ${place}`, async (t) => {
    const { server, stored, events } = await startSessions(t, database, { cookie })
    const app = feathers()
    app.configure(restClient.default(server.url).fetch(fetch))
    const storage = new MemoryStorage()
    app.configure(authenticationClient.default({ storage }))
    const { accessToken, user } = await app.authenticate({ strategy: 'local', ...ADA })
    t.match({ accessToken, user }, { accessToken: String, user: { email: ADA.email } })
    t.strictSame(await app.service('notes').find(), [])
    t.equal(await stored.countDocuments(), 1)
    await app.reAuthenticate(true)
    t.equal(await stored.countDocuments(), 1, 'a login by its token begins no session')
    await app.logout()
    t.equal(await stored.countDocuments(), 0)
    t.strictSame(
      events.map(([name]) => name),
      ['login', 'login', 'sessionEnd'],
    )
    await t.rejects(app.service('notes').find(), { code: 401 })
    t.notOk(await storage.getItem('feathers-jwt'))
  })
}

import t from 'tap'
import { CollectionRevocationList, MemoryRevocationList } from '../../../src/auth/index.ts'
import { isEndedBy, onLoginEnd } from '../../../src/auth/login-end.ts'
import { decodeClaims } from '../../../src/auth/tokens/access-token.ts'
import { openDatabase } from '../../support/database.ts'
import { createClosedCollection } from '../closed-collection.ts'
import { atTime, external, forge, now, startLoginApp } from '../login-app.ts'

t.test('a token stays revoked for as long as any process may accept it (JWT-19)', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('revoked')
  const collection = db.collection<{ _id: string; expiresAt?: Date }>('revoked')
  const revocation = new CollectionRevocationList(collection)
  const jwtOptions = { clockTolerance: 60 }
  const { authentication } = await startLoginApp({ settings: { revocation, jwtOptions } })
  const exp = now() + 2
  const accessToken = await forge({ claims: { exp } })
  const request = { strategy: 'jwt', accessToken }
  await authentication.remove(null, external({ authentication: request }))
  for (const seconds of [1, 59]) {
    await atTime((exp + seconds) * 1000, async () => {
      // What a TTL index would have removed by then.
      await collection.deleteMany({ expiresAt: { $lte: new Date(now() * 1000) } })
      await t.rejects(authentication.verifyAccessToken(accessToken), { message: 'jwt was revoked' })
    })
  }
  const [stored] = await collection.find().toArray()
  const expiresAt = stored?.expiresAt?.getTime() ?? 0
  t.ok(expiresAt >= (exp + 60 + 60) * 1000, 'clocks of others may be behind')
})

t.test('a list that cannot be reached gives 503 and when to come back (DB-3)', async (t) => {
  const list = new CollectionRevocationList(await createClosedCollection())
  const { authentication } = await startLoginApp({ settings: { revocation: list } })
  const request = { strategy: 'jwt', accessToken: await forge() }
  const cause = { name: 'MongoNotConnectedError' }
  const unavailable = {
    name: 'Unavailable',
    code: 503,
    data: { retryAfter: 1 },
    cause,
  }
  await t.rejects(list.revoke('a', new Date()), unavailable)
  await t.rejects(authentication.verifyAccessToken(request.accessToken), unavailable)
  await t.rejects(authentication.create(request, external()), unavailable)
})

t.test('a full list in memory forgets what has expired, then the oldest', (t) => {
  const list = new MemoryRevocationList(2)
  list.revoke('first', new Date((now() + 60) * 1000))
  list.revoke('expired', new Date((now() - 1) * 1000))
  list.revoke('third', new Date((now() + 60) * 1000))
  t.strictSame(
    ['first', 'expired', 'third'].map((jti) => list.isRevoked(jti)),
    [true, false, true],
  )
  list.revoke('fourth', new Date((now() + 60) * 1000))
  t.strictSame([list.size, list.isRevoked('first')], [2, false])
  t.end()
})

t.test('a revoked token ends what outlasts requests: its login alone', async (t) => {
  const { app, authentication } = await startLoginApp({ settings: { revocation: true } })
  const tokens = await Promise.all([forge(), forge({ claims: { jti: 'other' } })])
  const ended: boolean[][] = []
  onLoginEnd(app, (end) => ended.push(tokens.map((token) => isEndedBy(end, decodeClaims(token)))))
  const request = { strategy: 'jwt', accessToken: tokens[0] }
  await authentication.remove(null, external({ authentication: request }))
  t.strictSame(ended, [[true, false]])
})

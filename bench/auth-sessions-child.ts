import { MongoClient } from 'mongodb'
import { startProtectedPlain } from './auth-plain.ts'
import { startProtectedRemex } from './auth-remex.ts'
import { answerParent } from './child-answers.ts'

// Runs one server whose tokens belong to sessions. DATABASE_URL and DATABASE_NAME say where these are.

/** The servers that are compared, by whether they read the session of a token for each request. */
export type SessionKind = 'plain' | 'plain, read' | 'remex, cached' | 'remex, read'

const { DATABASE_URL = '', DATABASE_NAME } = process.env
const sessions = new MongoClient(DATABASE_URL)
  .db(DATABASE_NAME)
  .collection<{ _id: string }>('sessions')

const KINDS: Readonly<Record<SessionKind, () => Promise<number>>> = {
  plain: () => startProtectedPlain({ hasCache: false }),
  'plain, read': () =>
    startProtectedPlain({
      hasCache: false,
      findSession: (sid) => sessions.findOne({ _id: sid }),
    }),
  'remex, cached': () =>
    startProtectedRemex({ hasCache: true, sessions: sessions as never, checkCacheMs: 10_000 }),
  'remex, read': () => startProtectedRemex({ hasCache: true, sessions: sessions as never }),
}

await answerParent(async () => ({ records: await KINDS[process.argv[2] as SessionKind]() }))

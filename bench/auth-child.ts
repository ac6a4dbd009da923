import { MongoClient } from 'mongodb'
import { startProtectedPlain } from './auth-plain.ts'
import { startProtectedRemex } from './auth-remex.ts'
import { answerParent } from './child-answers.ts'

// Runs one server that asks for tokens of sessions, which are in the database of DATABASE_URL and DATABASE_NAME.

/** The servers that are compared; `read` ones read the session of a token for each request. */
export type AuthKind = 'plain' | 'plain, read' | 'remex, cached' | 'remex, read'

function openSessions() {
  const { DATABASE_URL = '', DATABASE_NAME } = process.env
  const client = new MongoClient(DATABASE_URL)
  return client.db(DATABASE_NAME).collection<{ _id: string }>('sessions')
}

const KINDS: Readonly<Record<AuthKind, () => Promise<number>>> = {
  plain: () => startProtectedPlain({ hasCache: false }),
  'plain, read': () => {
    const sessions = openSessions()
    return startProtectedPlain({
      hasCache: false,
      findSession: (sid) => sessions.findOne({ _id: sid }),
    })
  },
  'remex, cached': () =>
    startProtectedRemex({
      hasCache: true,
      sessions: openSessions() as never,
      checkCacheMs: 10_000,
    }),
  'remex, read': () => startProtectedRemex({ hasCache: true, sessions: openSessions() as never }),
}

await answerParent(async () => ({ records: await KINDS[process.argv[2] as AuthKind]() }))

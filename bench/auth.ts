import { randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { Collection, Db, Document } from 'mongodb'
import { ObjectId } from 'mongodb'
import type { Params } from 'remex'
import { createApp } from 'remex'
import { AuthenticationService, JwtStrategy } from 'remex/auth'
import { MongoDBService } from 'remex/mongodb'
import type { AuthKind } from './auth-child.ts'
import { OWN_RECORD, SECRET, toSignedRequest } from './auth-token.ts'
import type { CallPair } from './call-pairs.ts'
import { measurePair } from './call-pairs.ts'
import { openBenchDatabase } from './database.ts'
import type { Column } from './rest-columns.ts'
import type { RoundSizes } from './rest-measure.ts'
import { measureRounds } from './rest-measure.ts'
import { toMedian, toRatio } from './statistics.ts'
import { printTable, toPercent, toVerdict } from './table.ts'

// What sessions cost: node build/bench/auth.js [--quick] [--gate]
//
// A protected get with a token of a session, as the rows `bearer` of bench/rest.ts: `checkSession: 'always'`,
// remembered for ten seconds, is compared with plain Fastify that has no sessions. Without that memory it is compared with
// plain Fastify that reads the session by the driver. Measured is the CPU time of the server's process.
//
// A refresh is a call of the authentication service in this process. The driver sends the two commands that a
// refresh cannot do without: the read of the user, and the change of the session with a hash in its filter. A
// call from outside reads the user once more, as callers outside may see it, and so does the driver then.
// Measured is the time of a call, with the database in another process.

/** Shorter than those of bench/rest.ts: a request that reads a session takes its time. */
const SIZES: RoundSizes = { rounds: 4, warmUp: 4_000, turns: 24, requests: 200 }
const QUICK_SIZES: RoundSizes = { ...SIZES, rounds: 2, turns: 10 }

const CHILD = new URL('./auth-child.js', import.meta.url)
const SESSION_ID = 'session-of-the-bench-0'
/** How many times as long as its commands a refresh may take. */
const MAX_RATIO = 1.5

interface Comparison {
  readonly name: string
  readonly plain: AuthKind
  readonly remex: AuthKind
  readonly target: number
  readonly least: number
}

const COMPARISONS: readonly Comparison[] = [
  {
    name: 'bearer of a session, remembered',
    ...{ plain: 'plain', remex: 'remex, cached', target: 0.95, least: 0.8 },
  },
  {
    name: 'bearer of a session, read each time',
    ...{ plain: 'plain, read', remex: 'remex, read', target: 0.95, least: 0.75 },
  },
]

const DAY_MS = 86_400_000
const toLater = (): Date => new Date(Date.now() + 14 * DAY_MS)
const toHash = (): string => randomBytes(32).toString('base64url')
/** As long as what a session keeps of the token that comes next. */
const SEALED = 'a'.repeat(360)

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
  },
  strict: false,
})
const isMet = await measureSessions({ isQuick: values.quick === true })
if (values.gate && !isMet) process.exitCode = 1

/** Prints what sessions cost. Resolves to whether the limits are met. */
async function measureSessions({ isQuick }: { isQuick: boolean }): Promise<boolean> {
  const { url, db, close } = await openBenchDatabase()
  try {
    Object.assign(process.env, { DATABASE_URL: url, DATABASE_NAME: db.databaseName })
    const areMet = await measureBearers(db, isQuick)
    return (await measureRefreshes(db, isQuick ? 15 : 60)) && areMet
  } finally {
    await close()
  }
}

async function measureBearers(db: Db, isQuick: boolean): Promise<boolean> {
  await db.collection<{ _id: string }>('sessions').insertOne(toSession(SESSION_ID))
  const column: Column = {
    name: 'bearer',
    request: toSignedRequest(SECRET, { sid: SESSION_ID }),
    status: 200,
    body: OWN_RECORD ?? {},
  }
  const kinds = COMPARISONS.flatMap(({ plain, remex }) => [plain, remex])
  const sizes = isQuick ? QUICK_SIZES : SIZES
  const timesOf = await measureRounds(CHILD, kinds, [column], sizes)
  printTable(
    ['CPU efficiency', 'Remex', 'target', 'least', '', 'quartiles', 'plain', 'Remex'],
    ['---', '---:', '---:', '---:', '---', '---:', '---:', '---:'],
  )
  const areMet = COMPARISONS.map(({ name, target, least, ...kinds }) => {
    const [plain, remex] = [timesOf('bearer', kinds.plain), timesOf('bearer', kinds.remex)]
    const { median, low, high } = toRatio(plain, remex)
    printTable([
      ...[name, toPercent(median), toPercent(target), toPercent(least)],
      ...[toVerdict(median, target, least), `${toPercent(low)} to ${toPercent(high)}`],
      ...[plain, remex].map((times) => `${toMedian(times).toFixed(1)} µs`),
    ])
    return median >= least
  })
  return areMet.every(Boolean)
}

async function measureRefreshes(db: Db, turns: number): Promise<boolean> {
  printTable(
    ['', 'driver, µs', 'refresh, µs', 'ratio', 'quartiles', `at most ${MAX_RATIO}`],
    ['---', '---:', '---:', '---:', '---:', '---'],
  )
  const areMet: boolean[] = []
  for (const [title, provider] of [
    ['refresh, two commands', undefined],
    ['refresh from outside, three commands', 'rest'],
  ] as const) {
    const { driver, service } = await measurePair(await createRefreshes(db, provider), turns)
    const { median, low, high } = toRatio(service, driver)
    areMet.push(median <= MAX_RATIO)
    printTable([
      ...[title, toMedian(driver).toFixed(0), toMedian(service).toFixed(0)],
      ...[median.toFixed(2), `${low.toFixed(2)} to ${high.toFixed(2)}`],
      median <= MAX_RATIO ? 'met' : 'MISSED',
    ])
  }
  return areMet.every(Boolean)
}

/** Resolves to refreshes of one session by the service, and to their commands by the driver. */
async function createRefreshes(db: Db, provider: string | undefined): Promise<CallPair> {
  const users = db.collection('users')
  const sessions: Collection<Document & { _id: string }> = db.collection('sessions')
  const _id = new ObjectId()
  await users.insertOne({ _id, email: 'ada@example.org', name: 'Ada' })
  const app = createApp()
  // Each refresh is logged.
  app.logger = { error: console.error, warn: console.warn, info: () => undefined }
  const authentication = new AuthenticationService(app, 'authentication', {
    ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'bench'] },
    sessions: { service: 'sessions' },
  })
  authentication.register('jwt', new JwtStrategy())
  authentication.register('bench', {
    authenticate: async () => ({ authentication: { strategy: 'bench' }, user: { _id } }),
  })
  app.use('authentication', authentication)
  app.use('users', new MongoDBService({ Model: users }))
  app.use('sessions', new MongoDBService({ Model: sessions as never }))
  await app.setup()
  const params = { ...(provider && { provider, query: {}, headers: {} }) } as Params
  const login = await app.service('authentication').create({ strategy: 'bench' }, params)
  let { refreshToken } = login as { refreshToken: unknown }
  const own = { ...toSession(`driver-${provider}`), tokenHash: toHash() }
  await sessions.insertOne(own)
  let { tokenHash } = own
  let count = 0
  return {
    calls: 30,
    async service() {
      const data = { strategy: 'refresh', refreshToken }
      const answer = await app.service('authentication').create(data, params)
      refreshToken = (answer as { refreshToken: unknown }).refreshToken
    },
    async driver() {
      await users.findOne({ _id })
      if (provider !== undefined) await users.findOne({ _id })
      const now = new Date()
      const [next, place] = [toHash(), `spent.${count % 3}`]
      const filter = { _id: own._id, tokenHash, expiresAt: { $gt: now }, endsAt: { $gt: now } }
      const change = {
        $set: {
          ...{ tokenHash: next, usedAt: now, expiresAt: toLater(), issuedAt: 0 },
          ...{ userAgent: null, address: null },
          ...{ [`${place}.hash`]: tokenHash, [`${place}.next`]: SEALED },
        },
        $currentDate: { [`${place}.at`]: true },
      } as Document
      const rotated = await sessions.findOneAndUpdate(filter, change, { returnDocument: 'after' })
      if (rotated === null) throw new Error('The session was not found')
      tokenHash = next
      count += 1
    },
  }
}

function toSession(id: string) {
  const now = new Date()
  return {
    ...{ _id: id, userId: 'record-0007', createdAt: now, usedAt: now },
    ...{ expiresAt: toLater(), endsAt: toLater(), userAgent: null, address: null },
    ...{ tokenHash: toHash(), issuedAt: 0, spent: {} },
  }
}

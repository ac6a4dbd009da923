import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import t from 'tap'
import { openDatabase } from '../support/database.ts'
import { SECRET } from '../support/users.ts'
import type { Pair } from './sessions-random/login.ts'
import { Login } from './sessions-random/login.ts'
import type { Request, Turn } from './sessions-random/plan.ts'
import { CLIENTS, createRounds, MAX_BACK } from './sessions-random/plan.ts'
import type { Answer, Server } from './sessions-random/server.ts'
import { startServer } from './sessions-random/server.ts'

// Eight processes are started, and each of them takes its time.
t.setTimeout(600_000)

const SEED = Number(process.env.SESSIONS_SEED ?? 20_261_127)
const ROUNDS = Number(process.env.SESSIONS_ROUNDS ?? 48)
/** One round of this number kills a process. */
const KILL_EVERY = 8
const USERS = 4
const PASSWORD = 'correct horse battery'

const { db, url } = await openDatabase(t)
const sessions = db.collection<{ _id: string }>('sessions')
const children: ChildProcess[] = []
t.teardown(() => {
  for (const child of children) child.kill('SIGKILL')
})

const start = (): Promise<Server> =>
  startServer({ url, name: db.databaseName, secret: SECRET }, children)
const servers: [Server, Server] = [await start(), await start()]
const serverAt = (at: number): Server => (at === 0 ? servers[0] : servers[1])

/** What happened, for a comment at the end. */
const counts = { refreshes: 0, lost: 0, logouts: 0, thefts: 0, kills: 0, refused: 0 }

/** A browser with two tabs, which have one login. */
interface Client {
  readonly email: string
  login: Login | null
  /** A refresh token that a thief has. */
  copy: string | null
}

/** A client, and what it does in this round. */
interface Player {
  readonly client: Client
  readonly turn: Turn
}

const clients: Client[] = Array.from({ length: CLIENTS }, (_, index) => ({
  email: `user${index % USERS}@example.org`,
  login: null,
  copy: null,
}))
const EMAILS = [...new Set(clients.map(({ email }) => email))]

/** The logins that ended in earlier rounds, and in this one. */
const over: Login[] = []
let ended: Login[] = []
/** The logins whose theft was found in this round, and the number of requests at once that showed it. */
let robbed: { readonly login: Login; readonly requests: number }[] = []

function end(client: Client): void {
  if (client.login !== null) ended.push(client.login)
  client.login = null
  client.copy = null
}

/** Repeats a request until an answer arrives. */
async function sendUntilAnswered(
  { at, isLost, stays }: Request,
  send: (server: Server, isLost: boolean) => Promise<Answer | null>,
): Promise<Answer> {
  let place = at
  let answer = await send(serverAt(place), isLost)
  while (answer === null) {
    counts.lost += 1
    if (!stays || serverAt(place).isKilled) place = 1 - place
    answer = await send(serverAt(place), false)
  }
  return answer
}

function sendToken(server: Server, refreshToken: string, isLost = false): Promise<Answer | null> {
  const data = { strategy: 'refresh', refreshToken }
  return server.send('POST', '/authentication', { data, isLost })
}

function useToken(refreshToken: string, request: Request): Promise<Answer> {
  counts.refreshes += 1
  return sendUntilAnswered(request, (server, isLost) => sendToken(server, refreshToken, isLost))
}

async function logIn(client: Client, { at }: Request): Promise<void> {
  const data = { strategy: 'local', email: client.email, password: PASSWORD }
  const answer = await serverAt(at).send('POST', '/authentication', { data })
  assert.equal(answer?.status, 201)
  client.login = new Login(answer?.body as Pair)
}

/**
 * Refreshes in one tab, or in two at once.
 * @param mayEnd whether the session may end meanwhile
 */
async function refresh(login: Login, requests: readonly Request[], mayEnd = false): Promise<void> {
  const { newest, tokens } = login
  const count = tokens.length
  const used = requests.map(({ back }) => login.back(back))
  const answers = await Promise.all(
    requests.map((request, tab) => useToken(used[tab] ?? '', request)),
  )
  for (const { status, body } of answers) {
    if (mayEnd && status === 401) continue
    assert.equal(status, 201, `${JSON.stringify(body)} for one of ${count} tokens`)
    login.add(body as Pair)
  }
  const added = tokens.length - count
  const most = used.includes(newest) ? 1 : 0
  assert.ok(mayEnd ? added <= most : added === most, `${added} new tokens instead of ${most}`)
  for (const [tab, { status, body }] of answers.entries()) {
    const allowed = used[tab] === newest ? [login.newest] : [newest, login.newest]
    const { refreshToken } = body as Pair
    assert.ok(status === 401 || allowed.includes(refreshToken), 'an answer with an older token')
  }
}

async function logOut(login: Login, request: Request, path = ''): Promise<void> {
  counts.logouts += 1
  const { accessToken: token } = login
  const { status } = await sendUntilAnswered(request, (server, isLost) =>
    server.send('DELETE', `/authentication${path}`, { token, isLost }),
  )
  assert.equal(status, 200)
}

/** Has a thief and the owner use the same token, one of them later than a request can be repeated. */
async function showTheft(login: Login, copy: string, { requests, isShared }: Turn): Promise<void> {
  counts.thefts += 1
  const renew = async (token: string): Promise<void> => {
    const { status, body } = await useToken(token, requests[0])
    assert.equal(status, 201)
    login.add(body as Pair)
    assert.equal((body as Pair).refreshToken, login.newest)
  }
  let late = copy
  if (copy === login.newest) await renew(copy)
  if (isShared && login.tokens.slice(-1 - MAX_BACK).includes(copy)) {
    // Now both have the newest token: it shows when both have used that one.
    await renew(copy)
    late = login.newest
    await renew(late)
  }
  const session = (await sessions.findOne({ _id: login.sid })) as { spent?: object } | null
  const ats = Object.keys(session?.spent ?? {}).map((place) => [`spent.${place}.at`, new Date(0)])
  await sessions.updateOne({ _id: login.sid }, { $set: Object.fromEntries(ats) })
  robbed.push({ login, requests: requests.length })
  const answers = await Promise.all(requests.map((request) => useToken(late, request)))
  for (const { status } of answers) assert.equal(status, 401, 'a copied token')
}

/** Ends all sessions of a user, or all but one, while the other clients of the user refresh. */
async function endAll({ client, turn }: Player, others: readonly Player[]): Promise<void> {
  const { login } = client
  if (login === null) return
  const isKept = turn.does === 'end all but this'
  const path = isKept ? '/all?keep=current' : '/all'
  const refreshes = others.map(async ({ client, turn }) => {
    if (client.login !== null) await refresh(client.login, turn.requests, true)
  })
  await Promise.all([logOut(login, turn.requests[0], path), ...refreshes])
  for (const { client } of others) end(client)
  if (isKept) await refresh(login, turn.requests)
  else end(client)
}

async function play({ client, turn }: Player, isKilling: boolean): Promise<void> {
  const { does, requests } = turn
  const { login, copy } = client
  if (login === null) {
    // A login that loses its answer leaves a session that no client knows.
    if (!isKilling) await logIn(client, requests[0])
  } else if (does === 'log out') {
    await logOut(login, requests[0])
    end(client)
  } else if (does === 'log out while refreshing') {
    await Promise.all([logOut(login, requests[0]), refresh(login, requests, true)])
    end(client)
  } else if (does === 'meet the thief' && copy !== null && !isKilling) {
    await showTheft(login, copy, turn)
    end(client)
  } else if (does !== 'rest') {
    await refresh(login, requests)
    if (does === 'be robbed') client.copy = login.newest
  }
}

/** Has the clients of one user take their turns, all at once. */
async function playAll(players: readonly Player[], isKilling: boolean): Promise<void> {
  const ending = players.find(({ client, turn }) => client.login && turn.does.startsWith('end all'))
  // A command of a killed process might arrive late, and end the logins of the next round.
  if (ending !== undefined && !isKilling) {
    const others = players.filter((one) => one !== ending)
    return endAll(ending, others)
  }
  await Promise.all(players.map((player) => play(player, isKilling)))
}

async function checkRefused(tokens: readonly string[]): Promise<void> {
  for (const token of tokens) {
    for (const server of servers) {
      counts.refused += 1
      const answer = await sendToken(server, token)
      assert.equal(answer?.status, 401, 'a token of a session that has ended')
    }
  }
}

/** Checks that the processes have emitted `reuse` for each theft that was shown, and for nothing else. */
async function checkReuses(): Promise<void> {
  const answers = await Promise.all(servers.map((server) => server.send('GET', '/reuses')))
  const reuses = answers.flatMap((answer) => answer?.body as { sid: string; userId: string }[])
  for (const { login, requests } of robbed) {
    const own = reuses.filter(({ sid, userId }) => sid === login.sid && userId === login.userId)
    assert.equal(own.length, 1, `${own.length} events for ${requests} requests`)
  }
  const expected = robbed.map(({ login }) => login.sid)
  assert.deepEqual([...new Set(reuses.map(({ sid }) => sid))].sort(), expected.sort())
}

async function checkRound(): Promise<void> {
  await Promise.all(ended.map(({ tokens }) => checkRefused(tokens)))
  await checkReuses()
  const stored = await sessions.find({}, { projection: { _id: 1 } }).toArray()
  const expected = clients.flatMap(({ login }) => login?.sid ?? [])
  assert.deepEqual(stored.map(({ _id }) => _id).sort(), expected.sort())
  over.push(...ended)
  ended = []
  robbed = []
}

t.test('refresh tokens are renewed, repeated and refused alike at two processes', async (t) => {
  t.comment(`SESSIONS_SEED=${SEED}`)
  for (const email of EMAILS) {
    const answer = await servers[0].send('POST', '/users', { data: { email, password: PASSWORD } })
    assert.equal(answer?.status, 201)
  }
  for (const [index, { turns, killed, answers }] of createRounds(SEED, ROUNDS).entries()) {
    const isKilling = index % KILL_EVERY === KILL_EVERY - 1
    if (isKilling) serverAt(killed).killAfter(answers)
    const players = clients.map((client, one) => ({ client, turn: turns[one] as Turn }))
    const groups = EMAILS.map((email) => players.filter(({ client }) => client.email === email))
    await Promise.all(groups.map((group) => playAll(group, isKilling)))
    if (isKilling) {
      counts.kills += 1
      await serverAt(killed).kill()
      servers[killed] = await start()
    }
    await checkRound()
  }
  const request = { at: 0, back: 0, isLost: false, stays: true }
  for (const { login } of clients) {
    if (login === null) continue
    while (login.tokens.length <= MAX_BACK) await refresh(login, [request])
    await refresh(login, [{ ...request, back: MAX_BACK }])
    await refresh(login, [{ ...request, at: 1 }])
  }
  await checkRefused(over.map(({ newest }) => newest))
  await checkRound()
  t.comment(JSON.stringify(counts))
})

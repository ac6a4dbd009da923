import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { MongoClientOptions } from 'mongodb'
import { MongoClient, ObjectId } from 'mongodb'
import type { Test } from 'tap'
import t from 'tap'
import type { FaultProxy } from '../../support/fault-proxy.ts'
import { startFaultProxy } from '../../support/fault-proxy.ts'
import { Gate } from '../../support/gate.ts'
import type { Answer, ListeningServer } from '../../support/http.ts'
import { startNotes } from '../../support/notes-server.ts'
import type { Script } from '../../support/scripted-server.ts'
import { asStandalone, runAll, startScriptedServer } from '../../support/scripted-server.ts'
import { until } from '../../support/until.ts'

const IDS = [new ObjectId(), new ObjectId()]

/** The calls of a row, each with the command that breaks. */
const CALLS = {
  find: { command: 'find', send: (server: ListeningServer) => server.request('/notes') },
  create: {
    command: 'insert',
    send: (server: ListeningServer) => server.request('/notes', { data: { n: 0 } }),
  },
  patchOne: {
    command: 'findAndModify',
    send: (server: ListeningServer) =>
      server.request(`/notes/${IDS[0]}`, { method: 'PATCH', data: { n: 5 } }),
  },
  createMany: {
    command: 'insert',
    send: (server: ListeningServer) => server.request('/notes', { data: [{ n: 0 }, { n: 0 }] }),
  },
  patchMany: {
    command: 'update',
    send: (server: ListeningServer) =>
      server.request('/notes', { method: 'PATCH', data: { n: 5 } }),
  },
} as const

type Call = keyof typeof CALLS

/** What breaks a database, before the call whose `command` is the one that breaks. */
interface Fault {
  readonly command: string
  readonly proxy: FaultProxy
  readonly client: MongoClient
  /** Answers nothing until the call is over. */
  readonly hold: (...names: readonly string[]) => Promise<void>
  /** Closes the port. */
  readonly goAway: () => unknown
  readonly answerBy: (script: Script) => void
}

interface Row {
  readonly fault: (fault: Fault) => unknown
  readonly isStandalone?: boolean
  readonly options?: MongoClientOptions
  readonly handlerTimeoutMs?: number
  /** The status, `unknown` where that is the outcome, and what has reached the server. */
  readonly answers: Readonly<Record<Exclude<Call, 'createMany'>, string>> & {
    /** Default: as `patchMany`, without its reads. */
    readonly createMany?: string
  }
}

function findAnswer({ answers }: Row, call: Call): string {
  if (call !== 'createMany') return answers[call]
  const { createMany, patchMany } = answers
  const written = patchMany.replaceAll(' find', '').replaceAll('update', 'insert')
  return createMany ?? written.replace('200', '201')
}

const NAMES = new Set(['find', 'insert', 'findAndModify', 'update', 'commitTransaction'])

/** Answers the next commands of a name with an error, labelled as the server does. */
function fail(failing: string, times: number, code: number, ...labels: readonly string[]): Script {
  let left = times
  return async (name, command, run) => {
    if (name !== failing || left === 0) return run()
    left -= 1
    const isInside = command['autocommit'] === false
    const errorLabels = isInside ? ['TransientTransactionError', ...labels] : labels
    return { ok: 0, code, errmsg: 'secret', errorLabels }
  }
}

/** For what breaks, and not for how long it takes to be whole again. */
const PATIENT = { serverSelectionTimeoutMS: 60_000, connectTimeoutMS: 60_000 }
const OVERLOADED = ['SystemOverloadedError', 'RetryableError', 'NoWritesPerformed']
const GONE = { find: '503', create: '503', patchOne: '503', patchMany: '503' }
const TRIED = 'find update abort find update find commit'

/** By the first cells of the table in docs/reference/mongodb.md. */
const ROWS: Readonly<Record<string, Row>> = {
  'the database is away': {
    async fault({ client, goAway }) {
      const isNoticed = once(client, 'serverHeartbeatFailed')
      goAway()
      await isNoticed
    },
    answers: GONE,
  },
  'no connection of the pool is free': {
    options: { maxPoolSize: 1 },
    async fault({ client, hold }) {
      const arrival = hold('count')
      client
        .db('a')
        .command({ count: 'notes' })
        .catch(() => undefined)
      await arrival
    },
    answers: GONE,
  },
  'the database accepts connections and never answers': {
    fault: ({ proxy }) => proxy.swallow(),
    answers: { find: '503', create: '503 unknown', patchOne: '503 unknown', patchMany: '503' },
  },
  'a command takes longer than `rest({ handlerTimeoutMs })`': {
    handlerTimeoutMs: 2_000,
    fault: ({ hold }) => void hold(...NAMES),
    answers: {
      find: '503 find',
      create: '503 unknown insert',
      patchOne: '503 unknown findAndModify',
      createMany: '503 unknown insert',
      patchMany: '503 unknown find',
    },
  },
  'a command takes longer than `socketTimeoutMS`, which you may set': {
    options: { socketTimeoutMS: 1_000, ...PATIENT },
    fault: ({ hold }) => void hold(...NAMES),
    answers: {
      find: '503 find find',
      create: '503 unknown insert insert',
      patchOne: '503 unknown findAndModify findAndModify',
      createMany: '503 insert',
      patchMany: '503 find',
    },
  },
  'a connection breaks': {
    options: PATIENT,
    fault: ({ proxy, command }) => proxy.loseReply(command),
    answers: {
      find: '200 find find',
      create: '201 insert insert',
      patchOne: '200 findAndModify findAndModify',
      patchMany: '503 find update',
    },
  },
  'the primary changes': {
    options: PATIENT,
    fault: ({ answerBy, command }) => answerBy(fail(command, 1, 10107, 'RetryableWriteError')),
    answers: {
      find: '200 find find',
      create: '201 insert insert',
      patchOne: '200 findAndModify findAndModify',
      patchMany: `200 ${TRIED}`,
    },
  },
  'the database is overloaded, and says that a retry is safe': {
    fault: ({ answerBy, command }) => answerBy(fail(command, 2, 462, ...OVERLOADED)),
    answers: {
      find: '200 find find find',
      create: '201 insert insert insert',
      patchOne: '200 findAndModify findAndModify findAndModify',
      patchMany: '200 find update update update find commit',
    },
  },
  'another call writes the same record': {
    fault: ({ answerBy, command }) =>
      command === 'find' ? undefined : answerBy(fail(command, 1, 112)),
    answers: {
      find: '200 find',
      create: '409 insert',
      patchOne: '409 findAndModify',
      patchMany: `200 ${TRIED}`,
    },
  },
  'the reply to a commit is lost': {
    options: PATIENT,
    fault: ({ proxy }) => proxy.loseReply('commitTransaction'),
    answers: {
      find: '200 find',
      create: '201 insert',
      patchOne: '200 findAndModify',
      patchMany: '200 find update find commit commit',
    },
  },
}

/** What the text below the table says. */
const OTHERS: Readonly<Record<string, Row>> = {
  'what breaks twice': {
    options: PATIENT,
    fault: ({ proxy, command }) => proxy.loseReply(command, 2),
    answers: {
      find: '503 find find',
      create: '503 unknown insert insert',
      patchOne: '503 unknown findAndModify findAndModify',
      patchMany: '503 find update',
    },
  },
  'a commit whose reply is lost twice': {
    options: PATIENT,
    fault: ({ proxy }) => proxy.loseReply('commitTransaction', 2),
    answers: {
      find: '200 find',
      create: '201 insert',
      patchOne: '200 findAndModify',
      patchMany: '503 unknown find update find commit commit',
    },
  },
  'a standalone server whose connection breaks': {
    isStandalone: true,
    options: PATIENT,
    fault: ({ proxy, command }) => proxy.loseReply(command),
    answers: {
      find: '200 find find',
      create: '503 unknown insert',
      patchOne: '503 unknown findAndModify',
      patchMany: '503 unknown find update',
    },
  },
}

async function checkCall(t: Test, row: Row, call: Call): Promise<void> {
  const { fault, options = {}, isStandalone, handlerTimeoutMs = 0 } = row
  let script = runAll
  let commands: string[] = []
  const watch: Script = (name, command, run) => {
    if (NAMES.has(name) || name === 'abortTransaction')
      commands.push(name.replace(/Transaction$/, ''))
    return script(name, command, run)
  }
  const url = await startScriptedServer(t, isStandalone ? asStandalone(watch) : watch)
  const closings: (() => unknown)[] = []
  t.teardown(() => Promise.all(closings.map((close) => close())))
  const proxy = await startFaultProxy({ teardown: (close) => closings.push(close) }, url)
  const { server, client } = await startNotes(t, proxy.url, options, { handlerTimeoutMs })
  const direct = new MongoClient(url)
  t.teardown(() => direct.close())
  const stored = direct.db('a').collection<{ _id: ObjectId; n: number }>('notes')
  const records = IDS.map((_id) => ({ _id, n: 0 }))
  await stored.insertMany(records)
  // What a server is asked once, whether it takes transactions, is known. A busy machine may exceed a limit before that.
  const warmUp = { method: 'PATCH', data: { n: 0 } }
  await until(async () => (await server.request('/notes', warmUp)).status === 200)
  commands = []
  const { command, send } = CALLS[call]
  const over = new Gate()
  const hold: Fault['hold'] = (...names) => {
    script = async (name, _command, run) => {
      if (names.includes(name)) await over.pass()
      return run()
    }
    return over.arrivals(1)
  }
  const goAway = (): unknown => closings.map((close) => close())
  await fault({ command, proxy, client, hold, goAway, answerBy: (given) => (script = given) })
  const answer = await send(server)
  const reached = commands.join(' ')
  over.open()
  t.equal(`${toOutcome(answer)} ${reached}`.trimEnd(), findAnswer(row, call), call)
  if (answer.status < 400) return
  t.equal(answer.headers['retry-after'], '1')
  if (!toOutcome(answer).includes('unknown')) t.same(await stored.find().toArray(), records)
}

function toOutcome({ status, body }: Answer): string {
  const { errors } = body as { readonly errors?: { readonly outcome?: string } }
  return errors?.outcome === undefined ? String(status) : `${status} ${errors.outcome}`
}

for (const [title, row] of Object.entries({ ...ROWS, ...OTHERS })) {
  t.test(`of a database at fault the page tells what holds: ${title}`, async (t) => {
    await Promise.all((Object.keys(CALLS) as Call[]).map((call) => checkCall(t, row, call)))
  })
}

t.test('the page tells of these faults, and of no others', async (t) => {
  const page = readFileSync(
    new URL('../../../../docs/reference/mongodb.md', import.meta.url),
    'utf8',
  )
  const [, table = ''] = page.split('| what happens |')
  const [text = ''] = table.split('\n\n')
  const titles = [...text.matchAll(/^\| ([^|]+) \|/gm)].map(([, title]) => title)
  t.strictSame(titles, Object.keys(ROWS))
})

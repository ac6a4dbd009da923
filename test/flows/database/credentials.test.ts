import { inspect } from 'node:util'
import type { Document } from 'mongodb'
import { Binary, MongoClient } from 'mongodb'
import t from 'tap'

import type { ConnectOptions } from '../../../src/adapter/index.ts'
import { connectMongoDB, MongoDBService } from '../../../src/adapter/index.ts'
import { startOwnServer } from '../../support/own-server.ts'
import type { Script } from '../../support/scripted-server.ts'
import { startScriptedServer } from '../../support/scripted-server.ts'

const PASSWORD = 'the horse of the database'
const REFUSED = {
  ok: 0,
  code: 18,
  codeName: 'AuthenticationFailed',
  errmsg: 'Authentication failed.',
}

const EVENTS = [
  ...['commandStarted', 'commandSucceeded', 'commandFailed'],
  ...['connectionPoolCreated', 'connectionPoolReady', 'connectionPoolCleared'],
  ...['connectionCreated', 'connectionReady', 'connectionClosed', 'connectionCheckOutFailed'],
  ...['serverHeartbeatStarted', 'serverHeartbeatSucceeded', 'serverHeartbeatFailed'],
  ...['serverDescriptionChanged', 'topologyDescriptionChanged'],
] as const

/** Returns all forms in which what a driver sends to prove who it is could be logged. */
function toForms(payload: Binary): string[] {
  const bytes = Buffer.from(payload.buffer)
  return [bytes.toString('latin1'), bytes.toString('base64'), bytes.toString('hex')]
}

/** What a server does with a login; its `sent` are the payloads that have come. */
type Login = (sent: Binary[]) => Script

/** Returns the answer to the first message of SCRAM. */
function toChallenge(payload: Binary): Document {
  const nonce = /r=([^,]*)/.exec(toForms(payload)[0] ?? '')?.[1]
  const salt = Buffer.from('salt of 16 bytes').toString('base64')
  const challenge = new Binary(Buffer.from(`r=${nonce}abc,s=${salt},i=4096`))
  return { conversationId: 1, done: false, payload: challenge }
}

const LOGINS: Readonly<Record<string, readonly [string, Login]>> = {
  'is refused at once': [
    'SCRAM-SHA-256',
    (sent) => async (name, command, run) => {
      const { payload = command.speculativeAuthenticate?.payload } = command
      if (payload !== undefined) sent.push(payload)
      return name === 'saslStart' ? REFUSED : run()
    },
  ],
  'is refused at its end': [
    'SCRAM-SHA-256',
    (sent) => async (name, command, run) => {
      const { speculativeAuthenticate: first, payload = first?.payload } = command
      if (payload !== undefined) sent.push(payload)
      if (name === 'saslContinue') return REFUSED
      const reply = await run()
      return first === undefined
        ? reply
        : { ...reply, speculativeAuthenticate: toChallenge(payload) }
    },
  ],
  'is asked for once more': [
    'PLAIN',
    (sent) =>
      async (name, { payload }, run) => {
        if (name === 'find') return { ok: 0, code: 391, errmsg: 'ReauthenticationRequired' }
        if (name !== 'saslStart') return run()
        sent.push(payload)
        return { ok: 1, conversationId: 1, done: true, payload: new Binary() }
      },
  ],
}

for (const [how, [mechanism, login]] of Object.entries(LOGINS)) {
  t.test(`a login to the database that ${how} tells no secret (MDB-1)`, async (t) => {
    const sent: Binary[] = []
    const url = new URL(await startScriptedServer(t, login(sent)))
    url.username = 'ann'
    url.password = encodeURIComponent(PASSWORD)
    url.search = `directConnection=true&authSource=$external&authMechanism=${mechanism}`
    const told: string[] = []
    const tell = (thing: unknown): void => {
      told.push(typeof thing === 'string' ? thing : inspect(thing, { depth: 20 }))
    }
    const options: ConnectOptions = {
      ...{ monitorCommands: true, serverSelectionTimeoutMS: 1_000 },
      mongodbLogPath: { write: tell },
      mongodbLogComponentSeverities: { default: 'trace' },
    }
    const client = new MongoClient(url.href, options)
    const clients = [client]
    t.teardown(() => Promise.all(clients.map((one) => one.close())))
    for (const name of EVENTS) client.on(name as 'commandStarted', tell)
    const Model = async () => {
      const connected = await connectMongoDB(url.href, options)
      clients.push(connected)
      return connected.db('a').collection('notes')
    }
    const notes = client.db('a').collection('notes')
    const server = await startOwnServer(
      t,
      (app) => {
        app.use('notes', new MongoDBService({ Model: notes }))
        app.use('late-notes', new MongoDBService({ Model }))
      },
      { fastify: { logger: { level: 'trace', stream: { write: tell } } } },
    )
    for (const path of ['/notes', '/late-notes']) {
      const { status, text } = await server.request(path)
      t.ok(status >= 500)
      tell(text)
    }
    const calls = [Model, () => server.app.service('notes').find()]
    for (const call of calls) {
      tell(
        await call().then(
          () => 'no error',
          (error: unknown) => error,
        ),
      )
    }

    const forms = sent.flatMap(toForms)
    t.ok(sent.length >= 3, `${sent.length} payloads`)
    const log = told.join('\n')
    t.match(log, /Authentication failed|ReauthenticationRequired/)
    t.match(log, /Connection pool created/)
    t.equal(log.includes('saslStart'), mechanism === 'PLAIN')
    const secrets = [PASSWORD, encodeURIComponent(PASSWORD), ...forms]
    t.strictSame(
      secrets.filter((secret) => log.includes(secret)),
      [],
    )
  })
}

import { Manager } from 'socket.io-client'
import type { Test } from 'tap'
import type { AuthenticationStrategy } from '../../../src/auth/index.ts'
import {
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from '../../../src/auth/index.ts'
import type { Params } from '../../../src/core/index.ts'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import { until } from '../../support/until.ts'
import { CHEAP_SCRYPT, CREDENTIALS, SECRET, UserService } from '../../support/users.ts'
import type { SocketClient, SocketServer, SocketServerOptions } from './socket-server.ts'
import { startSocketServer } from './socket-server.ts'

interface SocketAppOptions extends SocketServerOptions {
  /** Settings of the authentication service over those of the tests. */
  readonly settings?: object
  /** A strategy in the place of `JwtStrategy`. */
  readonly jwt?: AuthenticationStrategy
  /** Adds to the application. */
  readonly configure?: (app: FastifyApplication) => unknown
}

interface SocketApp extends SocketServer {
  readonly users: UserService
  /** The id of the user of {@link CREDENTIALS}. */
  readonly id: number
  logIn(client: SocketClient): Promise<{ readonly accessToken: string }>
  /** Opens a connection whose messages are written by hand. */
  openRaw(headers?: Record<string, string>): Promise<RawSocket>
}

/**
 * Starts an application with users, logins, `me` for users alone, and `notes` for everybody. Connections are in the channel
 * `anonymous`, after their login in `users`; events go to both.
 */
export async function startSocketApp(
  t: Test,
  { settings, jwt = new JwtStrategy(), configure, ...options }: SocketAppOptions = {},
): Promise<SocketApp> {
  const users = new UserService()
  const addServices = (app: FastifyApplication): void => {
    const authentication = new AuthenticationService(app, 'authentication', {
      ...{ secret: SECRET, entity: 'user', service: 'users', authStrategies: ['jwt', 'local'] },
      local: { usernameField: 'email', passwordField: 'password', scrypt: CHEAP_SCRYPT },
      ...settings,
    })
    authentication.register('jwt', jwt).register('local', new LocalStrategy())
    app.use('users', users as never)
    app.service('users').hooks({
      before: { create: [hashPassword('password')], patch: [hashPassword('password')] },
      after: { all: [protect('password')] },
    } as never)
    app.use('authentication', authentication as never)
    app.use('me', { find: async ({ user }: Params) => ({ user }) })
    app.service('me').hooks({ before: { all: [authenticate('jwt')] } })
    app.use('notes', new NoteService(), { methods: NOTE_METHODS })
    app.on('connection', (connection: object) => app.channel('anonymous').join(connection))
    app.on('login', (_result: unknown, { connection }: { connection?: object }) => {
      app.channel('anonymous').leave(connection)
      app.channel('users').join(connection)
    })
    app.publish(() => app.channel('anonymous', 'users'))
    configure?.(app)
  }
  const server = await startSocketServer(t, addServices, options)
  const { password, email } = CREDENTIALS
  const user = (await server.app.service('users').create({ email, password } as never)) as {
    id: number
  }
  const logIn: SocketApp['logIn'] = async (client) =>
    (await client.call('create', 'authentication', CREDENTIALS)) as { accessToken: string }
  const openRaw: SocketApp['openRaw'] = (headers = {}) => openRawSocket(t, server.url, headers)
  return { ...server, users, id: user.id, logIn, openRaw }
}

/** Methods that external callers may call of a note. */
const NOTE_METHODS = ['find', 'get', 'create', 'patch', 'remove', 'shout']

/** Returns what it is called with. `whisper` is not listed. */
class NoteService {
  calls = 0

  async find({ query }: Params): Promise<object> {
    this.calls += 1
    return { query }
  }

  async get(id: unknown, { query }: Params): Promise<object> {
    this.calls += 1
    return { id, query }
  }

  async create(data: object): Promise<object> {
    this.calls += 1
    return data
  }

  async patch(id: unknown, data: object): Promise<object> {
    this.calls += 1
    return { id, ...data }
  }

  async remove(id: unknown): Promise<object> {
    return { id }
  }

  async shout(data: object): Promise<object> {
    return data
  }

  async whisper(data: object): Promise<object> {
    return data
  }

  async _find(): Promise<object> {
    return {}
  }

  async setup(): Promise<void> {
    this.calls = 0
  }
}

/** A connection whose messages are written by hand. */
interface RawSocket {
  /** What the server has sent so far. */
  readonly frames: readonly string[]
  readonly isOpen: () => boolean
  /** Sends a text as it is. */
  send(text: string): void
  /** Connects to the services, and waits for what that is answered by. */
  join(auth?: object): Promise<void>
  /** Sends an event that asks for an answer. Resolves to the arguments of the answer. */
  ask(json: string): Promise<readonly unknown[]>
  /** Reads nothing from now on. */
  pause(): void
  close(): void
}

async function openRawSocket(
  t: Test,
  url: string,
  extraHeaders: Record<string, string>,
): Promise<RawSocket> {
  const options = { transports: ['websocket'], reconnection: false, autoConnect: false }
  const manager = new Manager(url, { ...options, extraHeaders })
  await new Promise<void>((resolve, reject) => {
    manager.open((error) => (error === undefined ? resolve() : reject(error)))
  })
  const { engine } = manager
  const frames: string[] = []
  let isOpen = true
  let asked = 0
  const { ws } = engine.transport as unknown as {
    readonly ws: Record<'pause' | 'resume' | 'terminate', () => void>
  }
  t.teardown(() => {
    // One that reads nothing does not see the end of the connection.
    ws.resume()
    ws.terminate()
  })
  engine.on('data', (frame) => frames.push(String(frame)))
  engine.once('close', () => {
    isOpen = false
  })
  return {
    frames,
    isOpen: () => isOpen,
    send: (text) => void engine.write(text),
    async join(auth = {}) {
      engine.write(`0${JSON.stringify(auth)}`)
      await until(() => frames.some((frame) => /^[04]/.test(frame)))
    },
    async ask(json) {
      asked += 1
      const start = `3${asked}[`
      engine.write(`2${asked}${json}`)
      const find = () => frames.find((frame) => frame.startsWith(start))
      await until(() => find() !== undefined || !isOpen)
      const answer = find()
      if (answer === undefined) throw new Error('The connection was closed')
      return JSON.parse(answer.slice(start.length - 1)) as unknown[]
    },
    pause: () => ws.pause(),
    close: () => void engine.close(),
  }
}

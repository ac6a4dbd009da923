// A help desk: tickets with private files, emails by jobs, and webhooks. Try the lines it prints.
// `npx tsx node_modules/remex/examples/help-desk.ts`. Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded
// database by default), AUTH_SECRET (a new one at each start by default) and NODE_ENV.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db, ObjectId } from 'mongodb'
import type { FastifyApplication, HookContext, Params } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import type { AccountNotice } from 'remex/auth'
import {
  AccountService,
  AuthenticationService,
  authenticate,
  hashPassword,
  JwtStrategy,
  LocalStrategy,
  protect,
} from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import type { FileRecord } from 'remex/files'
import { FileService } from 'remex/files'
import { jobs } from 'remex/jobs'
import type { MongoDBListService } from 'remex/mongodb'
import { connectMongoDB, createdBy, limitTo, MongoDBService } from 'remex/mongodb'
import { webhooks } from 'remex/webhooks'

interface User {
  readonly _id: ObjectId
  readonly email: string
  readonly password: string
  readonly isAgent?: boolean
}

interface Ticket {
  readonly _id: ObjectId
  readonly subject: string
  readonly status: 'open' | 'solved'
  readonly createdBy: ObjectId
}

interface Attachment extends FileRecord {
  readonly ticketId: string
  readonly createdBy: ObjectId
}

type Services = {
  users: MongoDBListService<User>
  authentication: AuthenticationService
  accounts: AccountService
  tickets: MongoDBListService<Ticket>
  attachments: FileService<Attachment>
}

type App = FastifyApplication<Services>

/** Sends an email, for example with nodemailer. */
export type SendEmail = (to: string, text: string, id: string) => Promise<void>

/** What the application needs. */
export interface Setup {
  readonly db: Db
  readonly secret: string
  readonly sendEmail: SendEmail
  /** In development, webhooks may go to this machine. */
  readonly isDevelopment?: boolean
  /** Tests run the jobs themselves. */
  readonly startJobs?: boolean
  /** Tests hash passwords quickly, with 1,024. */
  readonly scryptCost?: number
}

declare module 'remex/jobs' {
  interface JobData {
    'account-email': { email: string; kind: AccountNotice['kind']; token?: string }
    'ticket-email': { ticketId: string }
    'sweep-files': null
  }
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** Agents reach all records, other users their own. */
const onlyOwn = limitTo<{ createdBy: ObjectId }>(({ user }) => {
  const { _id, isAgent } = user as User
  return isAgent ? {} : { createdBy: _id }
})

/** Returns the application. */
export function createHelpDesk(setup: Setup): App {
  const app = fastifyApp(createApp<Services>(), { logger: { level: 'warn' } })
  app.configure(rest())
  addJobs(app, setup)
  addWebhooks(app, setup)
  addUsers(app, setup)
  addTickets(app, setup)
  addAttachments(app, setup)
  return app
}

function addUsers(app: App, { db, secret, scryptCost = 131_072 }: Setup): void {
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: {
      usernameField: 'email',
      passwordField: 'password',
      scrypt: { cost: scryptCost },
    },
  })
  const logins = new AuthenticationService(app)
  logins.register('jwt', new JwtStrategy()).register('local', new LocalStrategy())
  app.use('authentication', logins)
  const indexes = [{ key: { email: 1 }, unique: true }] as const
  const Model = db.collection<User>('users')
  app.use('users', new MongoDBService({ Model, indexes, hidden: ['password'] }), {
    methods: ['create'],
  })
  app.service('users').hooks({
    before: { create: [pickLogin, hashPassword('password')] },
    after: { all: [protect('password')] },
  })
  // The token of an email is in its job until the email is sent.
  const notify = ({ email, kind, token }: AccountNotice) =>
    app.jobs.enqueue('account-email', { email, kind, ...(token !== undefined && { token }) })
  const tokens = db.collection('account-tokens')
  app.use('accounts', new AccountService(app, { notify, tokens }), {
    methods: ['requestReset', 'resetPassword'],
  })
}

/** Callers cannot make themselves agents. */
function pickLogin(context: HookContext): void {
  const { email, password } = context.data as User
  if (context.params.provider !== undefined) context.data = { email, password }
}

function addTickets(app: App, { db }: Setup): void {
  app.use('tickets', new MongoDBService({ Model: db.collection<Ticket>('tickets') }))
  app.service('tickets').hooks({
    around: { all: [authenticate('jwt')] },
    before: { all: [onlyOwn], create: [createdBy(), open] },
    after: {
      // Within the transaction that `webhooks()` begins for each write of tickets.
      patch: [
        async ({ result, params }: HookContext) => {
          const { _id, status } = result as Ticket
          if (status !== 'solved') return
          const ticketId = String(_id)
          await app.jobs.enqueue('ticket-email', { ticketId }, { key: ticketId, params })
        },
      ],
    },
  })
}

function open(context: HookContext): void {
  context.data = { ...(context.data as Ticket), status: 'open' }
}

function addJobs(app: App, { db, sendEmail, startJobs = true }: Setup): void {
  const findEmail = async (id: ObjectId, params: Params): Promise<string> =>
    (await app.service('users').get(id, params)).email
  app.configure(
    jobs({
      collection: db.collection('jobs'),
      start: startJobs,
      handlers: {
        'account-email': ({ email, kind, token }, { job }) =>
          sendEmail(email, token === undefined ? kind : `${kind}: ${token}`, job.id),
        'ticket-email': async ({ ticketId }, params) => {
          const { subject, createdBy } = await app.service('tickets').get(ticketId, params)
          const email = await findEmail(createdBy, params)
          await sendEmail(email, `Your ticket "${subject}" is solved`, params.job.id)
        },
        'sweep-files': { schedule: DAY_MS, run: () => app.service('attachments').sweep() },
      },
    }),
  )
}

function addWebhooks(app: App, { db, isDevelopment = false }: Setup): void {
  app.configure(
    webhooks({
      endpoints: db.collection('webhooks'),
      deliveries: db.collection('webhook-deliveries'),
      events: { tickets: ['created', 'patched'] },
      around: [authenticate('jwt')],
      allowPrivateNetwork: isDevelopment,
    }),
  )
}

function addAttachments(app: App, { db, secret }: Setup): void {
  const attachments = new FileService<Attachment>({
    Model: db.collection<Attachment>('attachments'),
    maxBytes: 10_000_000,
    types: ['image/*', 'application/pdf', 'text/plain'],
    linkSecret: secret,
  })
  // Without `patch`: no file moves to another ticket.
  app.use('attachments', attachments, { methods: ['find', 'get', 'create', 'remove'] })
  app.service('attachments').hooks({
    around: { all: [authenticate('jwt')] },
    before: {
      all: [onlyOwn],
      create: [
        async (context: HookContext) => {
          const data = context.data as Attachment
          // By the rights of the caller: tickets of other users are not found.
          const { provider, user, authentication } = context.params
          const caller = { provider, user, authentication }
          const ticket = await app.service('tickets').get(data.ticketId, caller)
          context.data = { ...data, createdBy: ticket.createdBy }
        },
      ],
    },
  })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET, NODE_ENV } = process.env
  const client = await connectMongoDB(MONGODB_URL ?? (await startEmbeddedMongo()).url)
  const app = createHelpDesk({
    db: client.db('remex_help_desk'),
    secret: AUTH_SECRET ?? randomBytes(32).toString('base64url'),
    sendEmail: async (to, text) => console.log(`To ${to}: ${text}`),
    isDevelopment: NODE_ENV === 'development',
  })
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Try

  curl ${url}/users ${json} -d '{"email":"ann@example.org","password":"correct horse battery"}'
  curl ${url}/authentication ${json} \\
    -d '{"strategy":"local","email":"ann@example.org","password":"correct horse battery"}'
  TOKEN=... # the accessToken from that response
  curl ${url}/tickets ${json} -H "authorization: Bearer $TOKEN" -d '{"subject":"It is on fire"}'
  curl '${url}/attachments?name=note.txt&ticketId=<_id>' -X POST -T note.txt -H "authorization: Bearer $TOKEN"
  curl ${url}/tickets/<_id> ${json} -H "authorization: Bearer $TOKEN" -X PATCH -d '{"status":"solved"}'

Ctrl-C ends it.`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

// Live lists of the tasks of teams: a user who follows /tasks gets the tasks of their teams, from all
// processes. Try the lines it prints. `npx tsx node_modules/remex/examples/live-tasks.ts`.
// Reads PORT (3030), HOST (127.0.0.1), MONGODB_URL (an embedded database by default) and
// AUTH_SECRET (a new one at each start by default). Processes that share the last two form one application.
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Application, HookContext, Params, RecordQuery } from 'remex'
import { createApp, fastifyApp, rest } from 'remex'
import * as auth from 'remex/auth'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService, MongoDBParams } from 'remex/mongodb'
import { MongoDBService, mongoEvents, ObjectIdSchema, transaction } from 'remex/mongodb'
import { realtime, recheckStreams } from 'remex/realtime'
import type { Static } from 'remex/schema'
import { querySyntax, Type } from 'remex/schema'

const Id = ObjectIdSchema()
const Name = Type.String({ pattern: '^[a-z0-9-]{1,40}$' })
const User = Type.Object({ _id: Name, password: Type.String({ minLength: 12 }) })
const Team = Type.Object({ _id: Name, members: Type.Array(Name) })
const Task = Type.Object({ _id: Id, team: Name, title: Type.String(), done: Type.Boolean() })
type User = Static<typeof User>
type Team = Static<typeof Team>
type Task = Static<typeof Task>

export type TaskApp = Application<{
  users: MongoDBListService<User>
  teams: MongoDBListService<Team>
  tasks: MongoDBListService<Task>
  authentication: auth.AuthenticationService
}>

/** Adds users, teams, and tasks that only members of the team can read, write and follow. */
export function addServices(app: TaskApp, db: Db, secret: string): void {
  // examples/scaling.ts shows limits for logins, and revoked tokens, across processes.
  app.set('authentication', {
    secret,
    entity: 'user',
    service: 'users',
    authStrategies: ['jwt', 'local'],
    local: { usernameField: '_id', passwordField: 'password' },
  })
  const authentication = new auth.AuthenticationService(app)
  authentication.register('jwt', new auth.JwtStrategy()).register('local', new auth.LocalStrategy())
  app.use('authentication', authentication)
  const users = new MongoDBService({ Model: db.collection<User>('users'), allowClientId: true })
  const schemas = { entity: Type.Omit(User, ['password']), create: User }
  app.use('users', users, { methods: ['create'], schemas })
  app.service('users').hooks({ before: { create: [auth.hashPassword('password')] } })

  // Stores a write and its event in one transaction: a killed process leaves both or neither.
  const around = { create: [transaction()], patch: [transaction()], remove: [transaction()] }
  const login = auth.authenticate('jwt')
  const [Teams, indexes] = [db.collection<Team>('teams'), [{ key: { members: 1 } }]]
  app.use('teams', new MongoDBService({ Model: Teams, indexes, allowClientId: true }), {
    methods: ['find', 'create', 'patch'],
    schemas: { entity: Team, create: Type.Pick(Team, ['_id']), patch: Type.Omit(Team, ['_id']) },
  })
  app.service('teams').hooks({ around, before: { all: [login, onlyOwn], create: [join] } })
  // Otherwise former members would get its tasks for up to a minute.
  app.service('teams').on('patched', () => recheckStreams(app.service('tasks')))

  const tasks = { Model: db.collection<Task>('tasks'), indexes: [{ key: { team: 1 } }] }
  app.use('tasks', new MongoDBService(tasks), {
    methods: ['find', 'get', 'create', 'patch', 'remove'],
    schemas: { entity: Task, create: Type.Omit(Task, ['_id']), query: querySyntax(Task) },
  })
  app.service('tasks').hooks({ around, before: { all: [login, ofTeams, checkTeam] } })
}

const nameOf = ({ user }: Params): string => (user as User)._id

/** Limits callers to the teams they belong to. */
function onlyOwn({ params }: HookContext): void {
  if (params.provider) params.query = { ...params.query, members: nameOf(params) }
}

function join(context: HookContext): void {
  context.data = { ...(context.data as object), members: [nameOf(context.params)] }
}

type TaskParams = MongoDBParams<RecordQuery<Task>>

/** Adds the caller's teams as a condition to the query, which may name a `team`, too. */
async function ofTeams({ app, params }: { app: TaskApp; params: TaskParams }): Promise<void> {
  const teams = await app.service('teams').find({ query: { members: nameOf(params) } })
  const { $and = [], ...query } = params.query ?? {}
  params.query = { ...query, $and: [...$and, { team: { $in: teams.map(({ _id }) => _id) } }] }
}

/** @throws {NotFound} the caller does not belong to the team of the task */
async function checkTeam({ app, data, params }: HookContext<object, string, TaskApp>) {
  const { team } = (data ?? {}) as Partial<Task>
  if (team) await app.service('teams').get(team, { query: { members: nameOf(params) } })
}

async function main(): Promise<void> {
  const { PORT = '3030', HOST = '127.0.0.1', MONGODB_URL, AUTH_SECRET } = process.env
  const database = MONGODB_URL ?? (await startEmbeddedMongo()).url
  const db = (await MongoClient.connect(database)).db('remex_live_tasks')
  const app = fastifyApp(createApp()).configure(rest())
  app.configure(realtime({ bus: mongoEvents({ collection: db.collection('events') }) }))
  addServices(app, db, AUTH_SECRET ?? randomBytes(32).toString('base64url'))
  process.once('SIGTERM', () => void app.close().finally(() => process.exit()))
  await app.listen({ port: Number(PORT), host: HOST })
  const [url, json] = [`http://${HOST}:${PORT}`, "-H 'content-type: application/json'"]
  console.log(`Teams and tasks at ${url}, other processes by MONGODB_URL='${database}'
  curl ${url}/users ${json} -d '{"_id":"ann","password":"correct horse"}'
  curl ${url}/authentication ${json} -d '{"strategy":"local","_id":"ann","password":"correct horse"}'
  AUTH="authorization: Bearer ..." # the accessToken from that response
  curl ${url}/teams ${json} -H "$AUTH" -d '{"_id":"red"}'
  curl -N ${url}/tasks -H "$AUTH" -H 'accept: text/event-stream' & # goes on
  curl ${url}/tasks ${json} -H "$AUTH" -d '{"team":"red","title":"Sing","done":false}'`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

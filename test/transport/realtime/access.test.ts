import type { ObjectId } from 'mongodb'
import t from 'tap'
import { MongoDBService } from '../../../src/adapter/index.ts'
import { authenticate, MemoryRevocationList } from '../../../src/auth/index.ts'
import type { HookContext, NextFunction } from '../../../src/core/index.ts'
import { Forbidden, TooManyRequests } from '../../../src/core/index.ts'
import { forge } from '../../auth/login-app.ts'
import { addAccounts, bearer } from '../../support/accounts.ts'
import { openDatabase } from '../../support/database.ts'
import { Gate } from '../../support/gate.ts'
import { CREDENTIALS } from '../../support/users.ts'
import { linesSoFar, startLiveServer } from './live-server.ts'

const { db, empty } = await openDatabase(t)
const Model = db.collection('tasks')

interface Member {
  readonly team: string | null
  readonly role: string
}

/** The members of teams, by the id of the user. */
const members = new Map<string, Member>()

/** The member who calls, none within the process. */
function memberOf({ params }: HookContext): Member | undefined {
  const { user } = params as { user?: { id: number } }
  return user === undefined ? undefined : members.get(`${user.id}`)
}

function restrict(context: HookContext): void {
  const member = memberOf(context)
  if (context.params.provider === undefined) return
  if (member?.team == null) throw new Forbidden('No member of a team')
  context.params.query = { ...context.params.query, team: member.team }
}

async function shape(context: HookContext, next: NextFunction): Promise<void> {
  await next()
  const member = memberOf(context)
  const records = context.result as unknown as Record<string, unknown>[]
  if (member !== undefined) for (const record of records) record['for'] = member.role
}

let accounts!: ReturnType<typeof addAccounts>
const server = await startLiveServer(
  t,
  (app) => {
    accounts = addAccounts(app, { settings: { revocation: new MemoryRevocationList() } })
    for (const path of ['before', 'around', 'shaped']) app.use(path, new MongoDBService({ Model }))
    app.service('before').hooks({ before: { find: [authenticate('jwt'), restrict] } })
    app.service('around').hooks({
      around: { find: [authenticate('jwt')] },
      before: { find: [restrict] },
    })
    app.service('shaped').hooks({
      around: { find: [authenticate('jwt'), shape] },
      before: { find: [restrict] },
    })
  },
  { realtime: { recheckMs: 20 } },
)

const USERS = { ann: 1, ben: 2 }

for (const [name, id] of Object.entries(USERS)) {
  await accounts.addUser({ id, email: `${name}@example.org` })
}

/** Logs a user in. Resolves to the headers of his calls. */
async function logIn(name: keyof typeof USERS) {
  const data = { ...CREDENTIALS, email: `${name}@example.org` }
  const { body } = await server.request('/authentication', { data })
  return bearer((body as { accessToken: string }).accessToken)
}

async function create(path: string, data: object): Promise<ObjectId> {
  const created = await server.app.service(path).create(data as never)
  return (created as unknown as { _id: ObjectId })._id
}

t.beforeEach(() => {
  members.set('1', { team: 'red', role: 'chief' }).set('2', { team: 'blue', role: 'member' })
  return empty('tasks')
})

for (const path of ['before', 'around', 'shaped']) {
  t.test(`${path}: nobody without a valid token gets a stream`, async (t) => {
    for (const headers of [
      {},
      bearer('no.token.here'),
      bearer(await forge({ secret: 'x'.repeat(32) })),
    ]) {
      const { status, body, headers: answered } = await server.refusal(`/${path}`, headers)
      t.match(body, { name: 'NotAuthenticated', code: 401, className: 'not-authenticated' })
      t.equal(status, 401)
      t.match(answered['content-type'], 'application/json')
    }
    t.equal(server.hub.size, 0)
  })

  t.test(`${path}: members of a team alone hear of its tasks`, async (t) => {
    const [ann, ben] = [await logIn('ann'), await logIn('ben')]
    const red = await server.open(`/${path}`, ann)
    const blue = await server.open(`/${path}`, ben)
    t.strictSame([(await red.next()).data, (await blue.next()).data], [[], []])
    const service = server.app.service(path)
    const id = await create(path, { team: 'red', name: 'a' })
    await create(path, { team: 'blue', name: 'b' })
    t.match(await red.next(), { event: 'created', data: { name: 'a' } })
    t.match(await blue.next(), { event: 'created', data: { name: 'b' } })
    await service.patch(id, { team: 'blue' })
    t.match(await red.next(), { event: 'left' })
    t.match(await blue.next(), { event: 'patched', data: { name: 'a' } })
    await service.remove(id)
    t.strictSame(await linesSoFar(blue, service, { team: 'blue' }), ['removed a'])
    t.strictSame(await linesSoFar(red, service, { team: 'red' }), [])
  })

  t.test(`${path}: who asks for another team hears nothing of it`, async (t) => {
    const stream = await server.open(`/${path}?team=blue`, await logIn('ann'))
    await stream.next()
    await create(path, { team: 'blue', name: 'b' })
    const service = server.app.service(path)
    t.strictSame(await linesSoFar(stream, service, { team: 'red' }), [])
  })

  t.test(`${path}: a member who is moved begins anew, and hears nothing more`, async (t) => {
    await create(path, { team: 'red', name: 'a' })
    await create(path, { team: 'blue', name: 'b' })
    const stream = await server.open(`/${path}`, await logIn('ann'))
    t.match((await stream.next()).data, [{ name: 'a' }])
    members.set('1', { team: 'blue', role: 'member' })
    t.match(await stream.next(), { event: 'resync', id: '' })
    t.match(await stream.next(), { event: 'snapshot', data: [{ name: 'b' }] })
    await create(path, { team: 'red', name: 'secret' })
    const service = server.app.service(path)
    t.strictSame(await linesSoFar(stream, service, { team: 'blue' }), [])
  })

  t.test(`${path}: the stream of a member who is thrown out ends`, async (t) => {
    const stream = await server.open(`/${path}`, await logIn('ann'))
    await stream.next()
    members.set('1', { team: null, role: 'none' })
    const end = { event: 'end', data: { reason: 'refused', message: 'No member of a team' } }
    t.match(await stream.next(), end)
    await create(path, { team: 'red', name: 'secret' })
    t.strictSame(await stream.rest(), [])
    t.equal(server.hub.size, 0)
  })
}

t.test('two callers with the same query get each their own form', async (t) => {
  members.set('2', { team: 'red', role: 'member' })
  const ann = await server.open('/shaped', await logIn('ann'))
  const ben = await server.open('/shaped', await logIn('ben'))
  await Promise.all([ann.next(), ben.next()])
  await create('shaped', { team: 'red', name: 'a' })
  t.match(await ann.next(), { data: { name: 'a', for: 'chief' } })
  t.match(await ben.next(), { data: { name: 'a', for: 'member' } })
})

t.test('what a hook writes into a record for one caller reaches no other', async (t) => {
  const gate = new Gate()
  const nested = await startLiveServer(t, (app) => {
    app.use('tasks', new MongoDBService({ Model }))
    const mark = async ({ result, params }: HookContext): Promise<void> => {
      const caller = params.headers?.['x-caller']
      for (const { about } of result as unknown as { about: Record<string, unknown> }[]) {
        about['for'] = caller
        about[`${caller}`] = true
        await gate.pass()
      }
    }
    app.service('tasks').hooks({ after: { find: [mark] } })
  })
  const streams = await Promise.all(
    ['ann', 'ben'].map((name) => nested.open('/tasks', { 'x-caller': name })),
  )
  await Promise.all(streams.map((stream) => stream.next()))
  await nested.app.service('tasks').create({ about: { team: 'red' } } as never)
  // Both hooks have written before either answer is made.
  await gate.arrivals(2)
  gate.open()
  const [ann, ben] = await Promise.all(streams.map((stream) => stream.next()))
  t.strictSame(ann?.data.about, { team: 'red', for: 'ann', ann: true })
  t.strictSame(ben?.data.about, { team: 'red', for: 'ben', ben: true })
})

t.test('a hook that has counted too many calls ends no stream for good', async (t) => {
  let isTooMany = false
  const limited = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model }))
      const limit = (): void => {
        if (isTooMany) throw new TooManyRequests('Later')
      }
      app.service('tasks').hooks({ before: { find: [limit] } })
    },
    { realtime: { recheckMs: 20 } },
  )
  const stream = await limited.open('/tasks')
  await stream.next()
  isTooMany = true
  t.strictSame((await stream.next()).data, { reason: 'closing' })
})

t.test('who is moved to another collection gets a snapshot of that', async (t) => {
  const moved = db.collection('moved')
  await empty('moved')
  await moved.insertOne({ name: 'there' } as never)
  let collection = Model
  const tenants = await startLiveServer(
    t,
    (app) => {
      app.use('tasks', new MongoDBService({ Model }))
      const choose = ({ params }: HookContext): void => {
        Object.assign(params, { adapter: { Model: collection } })
      }
      app.service('tasks').hooks({ before: { find: [choose] } })
    },
    { realtime: { recheckMs: 20 } },
  )
  await create('before', { name: 'here' })
  const stream = await tenants.open('/tasks')
  t.match((await stream.next()).data, [{ name: 'here' }])
  await tenants.leave(stream)
  collection = moved
  const again = await tenants.open('/tasks', { 'last-event-id': stream.lastId })
  t.equal((await again.next()).event, 'resync', 'where he comes back')
  t.match((await again.next()).data, [{ name: 'there' }])
  collection = Model
  t.equal((await again.next()).event, 'resync', 'and where the stream is open')
  t.match((await again.next()).data, [{ name: 'here' }])
})

t.test('a logout ends the streams of its token, and no others', async (t) => {
  const [first, second] = [await logIn('ann'), await logIn('ann')]
  const mine = await server.open('/before', first)
  const other = await server.open('/before', second)
  await Promise.all([mine.next(), other.next()])
  await server.request('/authentication', { method: 'DELETE', headers: first })
  t.match(await mine.next(), { event: 'end', data: { reason: 'expired' } })
  t.strictSame(await mine.rest(), [])
  t.strictSame(await linesSoFar(other, server.app.service('before'), { team: 'red' }), [])
})

t.test('a login that has ended gets no stream again by its last id', async (t) => {
  const headers = await logIn('ann')
  const stream = await server.open('/before', headers)
  await stream.next()
  await server.request('/authentication', { method: 'DELETE', headers })
  await stream.rest()
  const again = { ...headers, 'last-event-id': stream.lastId }
  t.match(await server.refusal('/before', again), { status: 401 })
})

t.test('what one caller was sent is nothing to another', async (t) => {
  const id = await create('before', { team: 'red', name: 'a' })
  const stream = await server.open('/before', await logIn('ann'))
  await stream.next()
  await stream.close()
  await server.app.service('before').patch(id, { name: 'secret' })
  const headers = { ...(await logIn('ben')), 'last-event-id': stream.lastId }
  const ben = await server.open('/before', headers)
  const service = server.app.service('before')
  await create('before', { team: 'blue', name: 'fence' })
  await ben.upTo(({ data }) => JSON.stringify(data).includes('fence'))
  t.notMatch(JSON.stringify(ben.frames), /secret|red/)
  t.ok(service)
})

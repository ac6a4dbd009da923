import type { Server } from 'socket.io'
import { MongoDBService } from '../../src/adapter/index.ts'
import type { HookContext } from '../../src/core/index.ts'
import { createApp, fastifyApp } from '../../src/transport/index.ts'
import type { Channel, Connection, SocketioOptions } from '../../src/transport/socketio/index.ts'
import { socketio } from '../../src/transport/socketio/index.ts'
import type { Services } from './account-services.ts'
import { expectType } from './expect-type.ts'

const app = fastifyApp(createApp<Services>())

// Configuration: each argument may be left out
app.configure(socketio())
app.configure(socketio({ cors: { origin: 'https://app.example' }, checkReads: true, maxCalls: 10 }))
app.configure(socketio((io) => expectType<Server>()(io)))
app.configure(socketio({ path: '/ws' }, (io) => void io.use((_socket, next) => next())))
app.configure(socketio(3031))
app.configure(socketio(3031, (io) => expectType<Server>()(io)))
app.configure(socketio(3031, { transports: ['websocket'] }, () => undefined))
createApp<Services>().configure(socketio())
// @ts-expect-error no such option
socketio({ checkRead: true })
// @ts-expect-error true or false
socketio({ checkReads: 'yes' })
// @ts-expect-error options of Socket.IO have their types
socketio({ pingTimeout: '5s' })
// @ts-expect-error the port comes first
socketio({}, 3031)
// @ts-expect-error a function
socketio(3031, {}, 'callback')

const options: SocketioOptions = { maxCalls: 10 }
// @ts-expect-error options are never changed
options.maxCalls = 20

expectType<Server>()(app.io)
// @ts-expect-error made by the plug-in
app.io = null

// Channels
const members = app.channel('members')
expectType<Channel>()(members)
expectType<Channel>()(app.channel('members', 'guests'))
expectType<Channel>()(app.channel(['members', 'guests']))
expectType<string[]>()(app.channels)
expectType<number>()(members.length)
expectType<Channel>()(members.filter(({ user }) => user.isAdmin).send({ id: 1 }))
// @ts-expect-error a name is a string
app.channel(7)

app.on('connection', (connection: Connection) => {
  expectType<string>()(connection.provider)
  expectType<unknown>()(connection['team'])
  members.join(connection).leave(connection, (one) => one.user === connection['user'])
})
app.on('login', (_result: unknown, { connection }: { readonly connection?: Connection }) => {
  members.join(connection)
})
// @ts-expect-error a connection is an object
members.join('members')

// Publishers
expectType<typeof app>()(app.publish(() => members))
app.publish('created', async (data, context: HookContext) => {
  return context.params.provider === undefined ? null : [app.channel(`teams/${data.team}`)]
})
app.service('users').publish((user, { result }) => (result === user ? members : undefined))
app.service('users').publish('created', () => [members, [app.channel('guests').send(false)]])
app.service('users').publish('invited', (_data: { readonly to: string }, context: HookContext) => {
  return context.params.provider === undefined ? null : members
})
createApp()
  .use('x', new MongoDBService({ Model: null as never }))
  .service('x')
  .publish(() => null)
// @ts-expect-error a publisher is a function
app.publish('created')
// @ts-expect-error a publisher is a function
app.service('users').publish('created', members)

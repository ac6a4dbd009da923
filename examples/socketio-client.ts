// Services of a Fastify server over Socket.IO, and a Feathers client that gets their events. Ends by itself.
// `npx tsx node_modules/remex/examples/socketio-client.ts`, after `npm install socket.io`,
// `npm install @feathersjs/feathers`, `npm install @feathersjs/socketio-client` and `npm install socket.io-client`.
import type { AddressInfo } from 'node:net'
import { feathers } from '@feathersjs/feathers'
import socketioClient from '@feathersjs/socketio-client'
import { fastify } from 'fastify'
import type { Id } from 'remex'
import { createApp, remex } from 'remex'
import type { Connection, ServiceSocket, SocketioOptions } from 'remex/socketio'
import { socketio } from 'remex/socketio'
import { io } from 'socket.io-client'

interface Task {
  readonly id: Id
  readonly team: string
  readonly text: string
}

// The server

const tasks = {
  get: async (id: Id): Promise<Task> => ({ id, team: 'blue', text: 'Call Ann' }),
  create: async (data: Omit<Task, 'id'>): Promise<Task> => ({ id: 7, ...data }),
}
const app = createApp<{ tasks: typeof tasks }>().use('tasks', tasks)
const options: SocketioOptions = { maxHttpBufferSize: 100_000, maxCalls: 20 }

const server = fastify()
app.configure(
  socketio(options, (io) => {
    io.use((socket: ServiceSocket, next) => {
      if (socket.feathers) socket.feathers['team'] = String(socket.handshake.auth['team'])
      next()
    })
  }),
)
await server.register(remex, { app })

// Each connection is in a channel from the start. `connection.team` comes from the middleware above.
app.on('connection', (connection: Connection) => {
  app.channel('everyone', `teams/${connection['team']}`).join(connection)
})

// A team gets its new tasks, everyone else only the id.
app.service('tasks').publish('created', (task: Task) => {
  const team = app.channel(`teams/${task.team}`)
  return [team, app.channel('everyone').send({ id: task.id })]
})

await server.listen({ port: 0, host: '127.0.0.1' })
const { port } = server.server.address() as AddressInfo

// The client, which can run in a page

const socket = io(`http://127.0.0.1:${port}`, {
  transports: ['websocket'],
  auth: { team: 'blue' },
})
// `.default` and `as never` are for ES modules of Node: in a bundled page, write `socketioClient(socket)`.
const client = feathers().configure(socketioClient.default(socket as never))
const created = new Promise((resolve) => client.service('tasks').once('created', resolve))
await client.service('tasks').create({ team: 'blue', text: 'Call Ann' })
console.log(await created)
socket.close()
await server.close()

import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { Dispatcher } from './dispatch.ts'
import { Journal } from './journal/journal.ts'
import { serveConnection } from './serve-connection.ts'
import type { WorkerOptions } from './server.ts'
import { Store } from './storage/store.ts'

/**
 * The thread of one server. It posts its address once it listens, and ends when a message arrives. Errors
 * thrown before it posts the address fail the start.
 */
const { host, port, maxBytes, directory } = workerData as WorkerOptions
const server = createServer()
server.listen({ host, port })
await once(server, 'listening')
const address = `${host}:${(server.address() as AddressInfo).port}`
const store = new Store()
const journal = directory === undefined ? undefined : new Journal(directory, store)
store.clock.changes.maxBytes = maxBytes
const dispatcher = new Dispatcher(address, Date.now, store)
const sockets = new Set<Socket>()
server.on('connection', (socket: Socket) => {
  sockets.add(socket)
  socket.on('close', () => sockets.delete(socket))
  serveConnection(socket, dispatcher)
})
parentPort?.once('message', () => {
  server.close()
  for (const socket of sockets) socket.destroy()
  dispatcher.close()
  journal?.close()
  // Anything still open in the thread ends with it.
  process.exit()
})
parentPort?.postMessage(address)

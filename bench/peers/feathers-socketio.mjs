import { feathers } from '@feathersjs/feathers'
import { koa } from '@feathersjs/koa'
import { MemoryService } from '@feathersjs/memory'
import { MongoDBService } from '@feathersjs/mongodb'
import { resolve, resolveResult } from '@feathersjs/schema'
import socketio from '@feathersjs/socketio'
import { MongoClient } from 'mongodb'
import { io } from 'socket.io-client'
import { listen } from './feathers.mjs'

/** Starts Feathers with Socket.IO on Koa and one channel, in which every connection is. */
export async function startChannels({ record, resolver, storage, url, database, collection }) {
  const app = koa(feathers())
  app.configure(socketio())
  if (storage === 'memory') {
    app.use('records', new MemoryService({ id: '_id', store: { [record._id]: { ...record } } }))
  } else {
    const Model = new MongoClient(url).db(database).collection(collection)
    app.use('records', new MongoDBService({ Model }))
  }
  app.on('connection', (connection) => app.channel('all').join(connection))
  app.publish(() => app.channel('all'))
  const records = app.service('records')
  if (resolver !== null) records.hooks({ around: { all: [resolveResult(resolve(resolver))] } })
  const port = await listen(app, {})
  return { port, patch: (data) => records.patch(record._id, data) }
}

/** Resolves to a connected client, which hands on each record that was patched. */
export function openSocket(port, onRecord) {
  const socket = io(`http://127.0.0.1:${port}`, { transports: ['websocket'], multiplex: false })
  socket.on('records patched', onRecord)
  return new Promise((connected, failed) => {
    socket.once('connect', () => connected(socket))
    socket.once('connect_error', failed)
  })
}

/** Has a client read a record, as the official client does. Resolves to the record. */
export function getRecord(socket, id) {
  return new Promise((resolve, reject) => {
    socket.emit('get', 'records', id, {}, (error, record) => {
      if (error) reject(new Error(`A call over the socket has failed: ${error.message}`))
      else resolve(record)
    })
  })
}

import { get } from 'node:http'
import { parentPort } from 'node:worker_threads'
import { MongoClient } from 'mongodb'

import { startEmbeddedMongo } from 'remex/embedded'

// Fills a database, tells its URL, and then reads what it is sent the URLs of.

const { url } = await startEmbeddedMongo()
const client = new MongoClient(url)
const notes = client.db('bench').collection('notes')
const text = 'x'.repeat(940)
await notes.insertMany(Array.from({ length: 10_000 }, (_, n) => ({ n, text })))
await client.close()

parentPort?.on('message', (address: string) => {
  get(address, (response) => {
    response.resume().on('end', () => parentPort?.postMessage('read'))
  })
})
parentPort?.postMessage(url)

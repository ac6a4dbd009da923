import type { Collection } from 'mongodb'
import { MongoClient } from 'mongodb'

/** A collection for tests that send no command: its client never connects. */
export const idleCollection: Collection = new MongoClient('mongodb://127.0.0.1:1')
  .db('idle')
  .collection('idle')

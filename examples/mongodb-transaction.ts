// Calls several services in one transaction. Reads MONGODB_URL (an embedded database by default).
// `npx tsx node_modules/remex/examples/mongodb-transaction.ts`. Ends by itself.
import { fileURLToPath } from 'node:url'
import type { Db } from 'mongodb'
import { MongoClient } from 'mongodb'
import type { Application, Hook } from 'remex/core'
import { Conflict, createApp } from 'remex/core'
import { startEmbeddedMongo } from 'remex/embedded'
import type { MongoDBListService } from 'remex/mongodb'
import { MongoDBService, transaction } from 'remex/mongodb'

interface Account {
  _id: string
  balance: number
}

interface Transfer {
  from: string
  to: string
  amount: number
}

type Bank = Application<{
  accounts: MongoDBListService<Account>
  transfers: MongoDBListService<Transfer>
}>

async function withdraw(app: Bank, id: string, amount: number): Promise<void> {
  const accounts = app.service('accounts')
  const { balance } = await accounts.patch(id, { $inc: { balance: -amount } })
  if (balance < 0) throw new Conflict(`${id} has not that much`)
}

/** Takes a yearly fee from an account, for the bank. */
export async function takeFee(app: Bank, id: string): Promise<number> {
  const accounts = app.service('accounts')
  return transaction(app, async () => {
    const { balance } = await accounts.patch('bank', { $inc: { balance: 5 } })
    await withdraw(app, id, 5)
    return balance
  })
}

/** Registers the services `accounts` and `transfers`. */
export function openBank(app: Bank, db: Db): void {
  app.use(
    'accounts',
    new MongoDBService({ Model: db.collection<Account>('accounts'), multi: true }),
  )
  app.use('transfers', new MongoDBService({ Model: db.collection<Transfer>('transfers') }))

  const book: Hook<MongoDBListService<Transfer>, 'create'> = async ({ data }) => {
    const { from = '', to = '', amount = 0 } = data as Partial<Transfer>
    await app.service('accounts').patch(to, { $inc: { balance: amount } })
    await withdraw(app, from, amount)
  }
  app.service('transfers').hooks({
    around: { create: [transaction()] },
    before: { create: [book] },
  })
}

async function main(): Promise<void> {
  const { MONGODB_URL } = process.env
  const embedded = MONGODB_URL === undefined ? await startEmbeddedMongo() : undefined
  const mongo = await MongoClient.connect(MONGODB_URL ?? embedded?.url ?? '')
  const db = mongo.db('remex_bank')
  await db.dropDatabase()

  const app: Bank = createApp()
  openBank(app, db)
  const accounts = app.service('accounts')
  const transfers = app.service('transfers')
  await accounts.create(['ann', 'ben', 'bank'].map((_id) => ({ _id, balance: 100 })))
  accounts.on('patched', ({ _id, balance }) => console.log(_id, 'has', balance))

  await transfers.create({ from: 'ann', to: 'ben', amount: 98 }) // ben has 198, ann has 2
  for (const failing of [
    () => transfers.create({ from: 'ann', to: 'ben', amount: 98 }),
    () => takeFee(app, 'ann'),
  ]) {
    await failing().catch((error: Error) => console.log(error.message)) // ann has not that much
  }
  console.log('the bank has', await takeFee(app, 'ben')) // 105

  await mongo.close()
  await embedded?.close()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()

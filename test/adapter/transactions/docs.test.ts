import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createApp } from 'remex/core'
import t from 'tap'

import { openBank, takeFee } from '../../../examples/mongodb-transaction.ts'
import { openDatabase } from '../../support/database.ts'

function read(path: string): string {
  return readFileSync(fileURLToPath(new URL(`../../../../${path}`, import.meta.url)), 'utf8')
}

t.test('every code block about transactions stands in an example that runs', async (t) => {
  const [, section = ''] = read('docs/reference/transactions.md').split('\n## Transactions\n')
  const [text = ''] = section.split('\n## ')
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block = '']) => block)
  t.ok(blocks.length > 0)
  const example = read('examples/mongodb-transaction.ts').replace(/^ +/gm, '')
  for (const block of blocks) {
    t.ok(example.includes(block.replace(/^ +/gm, '')), block.split('\n')[0] ?? '')
  }
})

t.test('the example of transactions writes all or nothing', async (t) => {
  const { db, empty } = await openDatabase(t)
  await empty('accounts')
  await empty('transfers')
  const app: Parameters<typeof openBank>[0] = createApp()
  openBank(app, db)
  const accounts = app.service('accounts')
  const transfers = app.service('transfers')
  await accounts.create(['ann', 'ben', 'bank'].map((_id) => ({ _id, balance: 10 })))
  const events: unknown[] = []
  accounts.on('patched', ({ _id, balance }) => events.push([_id, balance]))

  await transfers.create({ from: 'ann', to: 'ben', amount: 6 })
  const again = transfers.create({ from: 'ann', to: 'ben', amount: 6 })
  await t.rejects(again, { name: 'Conflict', message: 'ann has not that much' })
  await t.rejects(takeFee(app, 'ann'), { name: 'Conflict' })
  t.equal(await takeFee(app, 'ben'), 15)

  t.equal(await transfers.countDocuments(), 1)
  t.strictSame(await accounts.find({ query: { $sort: { _id: 1 } } }), [
    { _id: 'ann', balance: 4 },
    { _id: 'bank', balance: 15 },
    { _id: 'ben', balance: 11 },
  ])
  t.strictSame(events, [
    ['ben', 16],
    ['ann', 4],
    ['bank', 15],
    ['ben', 11],
  ])
})

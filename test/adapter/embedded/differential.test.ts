import type { Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import t from 'tap'
import { startEmbeddedMongo } from '../../../src/adapter/embedded/index.ts'
import { KNOWN_DIFFERENCES } from './differential/known.ts'
import { COLLECTION, HARMLESS_INDEXES, indexesOf, operationOf } from './differential/operations.ts'
import { documentOf, Random } from './differential/random.ts'
import type { Outcome, Side } from './differential/sides.ts'
import {
  createOtherSide,
  createSide,
  documentsOf,
  print,
  REFUSED,
  reset,
  runOn,
} from './differential/sides.ts'

const SEED = Number(process.env['SEED'] ?? 20_261_125)
const ROUNDS = 50
const OPERATIONS = 100

/** An operation that the two sides do not agree about. */
interface Difference {
  readonly command: Document
  readonly before: readonly Document[]
  readonly left: Outcome
  readonly right: Outcome
}

interface Tally {
  operations: number
  errors: number
  refused: number
  readonly differences: Difference[]
}

const printAll = (documents: readonly Document[]): string => documents.map(print).join('\n')
const isSame = (one: readonly Document[], other: readonly Document[]): boolean =>
  printAll(one) === printAll(other)

function isDifferent(left: Outcome, right: Outcome): boolean {
  return left.answer !== right.answer || !isSame(left.documents, right.documents)
}

/** Runs one round of operations on both sides, which are made equal again after each difference. */
async function runRound(
  random: Random,
  [left, right]: readonly [Side, Side],
  extraIndexes: readonly Document[],
  tally: Tally,
): Promise<void> {
  const indexes = indexesOf(random)
  await reset(left, [], indexes)
  for (let id = 0; id < 10; id += 1) {
    const insert = { insert: COLLECTION, documents: [documentOf(random, id)] }
    await runOn(left, { command: insert, isWrite: false })
  }
  let before: readonly Document[] = await documentsOf(left)
  await reset(left, before, indexes)
  await reset(right, before, [...indexes, ...extraIndexes])
  for (let number = 0; number < OPERATIONS; number += 1) {
    const operation = operationOf(random)
    const { command, isWrite } = operation
    const outcomes = await Promise.all([runOn(left, operation), runOn(right, operation)])
    const [{ answer, documents }, outcome] = outcomes
    tally.operations += 1
    if (answer.startsWith('error')) tally.errors += 1
    if (answer === REFUSED) tally.refused += 1
    else if (isDifferent(...outcomes)) {
      tally.differences.push({ command, before, left: outcomes[0], right: outcome })
    }
    if (isWrite) before = documents
    if (!isSame(documents, outcome.documents)) {
      // Both, so that the natural order is the same as well.
      await reset(left, documents, indexes)
      await reset(right, documents, [...indexes, ...extraIndexes])
    }
  }
}

t.setTimeout(600_000)

const url = process.env['MONGODB_URL']
const other = url === undefined ? 'the same in another form' : 'the server at MONGODB_URL'

t.test(`5,000 random operations lead to the same as ${other}`, async (t) => {
  const server = await startEmbeddedMongo()
  const client = new MongoClient(server.url)
  const otherClient = new MongoClient(url ?? server.url)
  const left = createSide(client.db('remex_left'))
  const rightDatabase = otherClient.db(`remex_right_${process.pid}`)
  const right =
    url === undefined ? createOtherSide(otherClient, rightDatabase) : createSide(rightDatabase)
  t.teardown(async () => {
    await rightDatabase.dropDatabase()
    await client.close()
    await otherClient.close()
    await server.close()
  })
  const random = new Random(SEED)
  const tally: Tally = { operations: 0, errors: 0, refused: 0, differences: [] }
  for (let round = 0; round < ROUNDS; round += 1) {
    await runRound(random, [left, right], url === undefined ? HARMLESS_INDEXES : [], tally)
  }
  const { operations, errors, refused, differences } = tally
  t.comment(`seed ${SEED}: ${operations} operations, ${errors} errors, ${refused} refused`)
  const unknown = differences.filter(
    ({ command, left, right }) =>
      url === undefined ||
      !Object.values(KNOWN_DIFFERENCES).some(({ matches }) => matches(print(command), left, right)),
  )
  t.comment(`${differences.length} differences, ${unknown.length} of them not known`)
  t.equal(operations, ROUNDS * OPERATIONS)
  for (const { command, before, left, right } of unknown.slice(0, 40)) {
    const [expected, found] = [right, left].map(({ answer, documents }) => ({
      answer,
      documents: printAll(documents),
    }))
    t.fail(`${print(command)} on\n${printAll(before)}`, { expected, found })
  }
  t.equal(unknown.length, 0, 'no other difference')
})

import type { Collection } from 'mongodb'
import t from 'tap'

import { MongoDBService } from '../../../src/adapter/index.ts'
import { openDatabase } from '../../support/database.ts'
import type { TestServer } from '../../support/http.ts'
import { injectServer } from '../../support/http.ts'

interface Ranked {
  readonly _id: string
  readonly rank: number
}

const SIZE = 2_000
const PAGE = 50

const { empty } = await openDatabase(t)

/** Ids that increase, with room between them, and many records of the same rank. */
const toId = (n: number): string => String(n).padStart(8, '0')
const toRanked = (n: number): Ranked => ({ _id: toId(n), rank: n % 7 })

/** Opens a service with many records; some of them no test changes: the stable ones. */
async function startRanked(t: Parameters<typeof injectServer>[0], name: string) {
  const Model = (await empty(name)) as unknown as Collection<Ranked>
  await Model.insertMany(Array.from({ length: SIZE }, (_, n) => toRanked(10 * n)))
  const paginate = { default: PAGE, max: PAGE }
  const server = await injectServer(t, {
    services: (app) => app.use('ranked', new MongoDBService({ Model, paginate })),
  })
  const stable = Array.from({ length: SIZE }, (_, n) => 10 * n).filter((n) => n % 30 === 0)
  /** Writes before and behind the place of a reader, and removes what is not stable there. */
  const disturb = async (round: number): Promise<void> => {
    const at = 10 * PAGE * round
    const fresh = [at - 7, at + 3, at + 5 * PAGE + 1].filter((n) => n > 0)
    await Model.insertMany(fresh.map(toRanked))
    const gone = [at - 20, at - 10, at + 10, at + 20].filter((n) => n % 30 !== 0)
    await Model.deleteMany({ _id: { $in: gone.map(toId) } })
  }
  return { server, stable: stable.map(toId), disturb }
}

/** Reads page after page; `toNext` returns the query for the page behind the last record. */
async function readAll(
  { request }: TestServer,
  toNext: (last: Ranked | undefined, count: number) => string,
  between: (round: number) => Promise<void>,
): Promise<string[]> {
  const ids: string[] = []
  let last: Ranked | undefined
  for (let round = 0; ; round += 1) {
    const { body } = await request(`/ranked?${toNext(last, ids.length)}`)
    const { data } = body as { readonly data: readonly Ranked[] }
    ids.push(...data.map(({ _id }) => _id))
    if (data.length < PAGE) return ids
    last = data.at(-1)
    await between(round)
  }
}

/** Returns the ids that came twice, and the stable ones that did not come. */
function findFaults(ids: readonly string[], stable: readonly string[]) {
  const seen = new Set(ids)
  return {
    twice: ids.filter((id, index) => ids.indexOf(id) !== index),
    missing: stable.filter((id) => !seen.has(id)),
  }
}

const BY_ID = '$sort[_id]=1'
const BY_RANK = '$sort[rank]=1&$sort[_id]=1'

/** The records behind the last one: of a higher rank, or of the same and with a higher id. */
function toBehind({ rank, _id }: Ranked): string {
  return `$or[0][rank][$gt]=${rank}&$or[1][rank]=${rank}&$or[1][_id][$gt]=${_id}`
}

t.test('pages by the last id have each record once while others write (PAGE-1)', async (t) => {
  const { server, stable, disturb } = await startRanked(t, 'by_id')
  const toNext = (last?: Ranked) => (last === undefined ? BY_ID : `${BY_ID}&_id[$gt]=${last._id}`)
  const ids = await readAll(server, toNext, disturb)
  t.ok(ids.length > SIZE / 2)
  t.strictSame(findFaults(ids, stable), { twice: [], missing: [] })
})

t.test('pages by the last value and id have each record once, too (PAGE-1)', async (t) => {
  const { server, stable, disturb } = await startRanked(t, 'by_rank')
  // Numbers of a query string are strings: a resolver or a schema would make numbers of them.
  server.app.service('ranked').hooks({
    before: {
      find: ({ params }) => {
        const [higher, same] = (params.query?.['$or'] ?? []) as Record<string, unknown>[]
        if (higher === undefined || same === undefined) return
        const rank = Number(same['rank'])
        params.query = { ...params.query, $or: [{ rank: { $gt: rank } }, { ...same, rank }] }
      },
    },
  })
  const toNext = (last?: Ranked) => (last === undefined ? BY_RANK : `${BY_RANK}&${toBehind(last)}`)
  const ids = await readAll(server, toNext, disturb)
  t.ok(ids.length > SIZE / 2)
  t.strictSame(findFaults(ids, stable), { twice: [], missing: [] })
})

t.test('pages by $skip move when records before them go or come (PAGE-1)', async (t) => {
  const { server, stable, disturb } = await startRanked(t, 'by_skip')
  const toNext = (_last: Ranked | undefined, count: number) => `${BY_ID}&$skip=${count}`
  const ids = await readAll(server, toNext, disturb)
  const { twice, missing } = findFaults(ids, stable)
  t.ok(twice.length + missing.length > 0, 'which is why docs/reference/mongodb.md advises the id')
})

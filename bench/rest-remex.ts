import type { AddressInfo } from 'node:net'
import type { AroundHook, Params, ServiceOptions } from 'remex'
import { createApp, fastifyApp, NotFound, rest } from 'remex'
import type { BenchPage, BenchRecord, NewRecord } from './rest-records.ts'
import { createRecord, findRecords, getRecord } from './rest-records.ts'

/** How long the slow service takes, unless its caller goes away before. */
const SLOW_MS = 1_000

export class RecordService {
  async find(params: Params): Promise<BenchPage> {
    return findRecords(params.query ?? {})
  }

  async get(id: string, _params: Params): Promise<BenchRecord> {
    const record = getRecord(id)
    if (record === undefined) throw new NotFound(`No record found for id '${id}'`)
    return record
  }

  async create(data: NewRecord, _params: Params): Promise<BenchRecord> {
    return createRecord(data)
  }
}

/** Records with a version, as those of a database may have. */
class TaggedService extends RecordService {
  readonly recordVersions = { field: 'age', isRequired: false }
}

/** Waits, as a call to a database does; the signal ends the wait. */
class SlowService {
  get(id: string, params: Params): Promise<{ id: string }> {
    return new Promise((resolve) => {
      const answer = (): void => resolve({ id })
      const timer = setTimeout(answer, SLOW_MS)
      params.signal?.addEventListener('abort', () => {
        clearTimeout(timer)
        answer()
      })
    })
  }
}

const passOn: AroundHook = async (_context, next) => {
  await next()
}

/**
 * Starts the standalone server: `records`, the same with five hooks, and a slow one. Returns its port.
 * @param options those of all but the slow one
 */
export async function startRemex(options: ServiceOptions = {}): Promise<number> {
  const app = fastifyApp(createApp())
  app.configure(rest())
  app.use('records', new RecordService(), options)
  app.use('hooked', new RecordService(), options)
  app.use('slow', new SlowService())
  app.use('tagged', new TaggedService(), options)
  app.service('hooked').hooks({ around: { all: [passOn, passOn, passOn, passOn, passOn] } })
  const server = await app.listen({ port: 0, host: '127.0.0.1' })
  return (server.address() as AddressInfo).port
}

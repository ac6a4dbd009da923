import { ofetch } from 'ofetch'
import { createClient } from 'remex/client'
import { toNewRecord } from './rest-records.ts'

/** The same call by a service of the client, and as one writes it with the library alone. */
export interface ClientRow {
  readonly title: string
  /** How many times as much as {@link limited} a call may take. */
  readonly target: number
  readonly service: () => Promise<unknown>
  readonly library: () => Promise<unknown>
  /** The same with a time limit of the library's own: each call of the client has one. */
  readonly limited: () => Promise<unknown>
}

const TARGET = 1.15

const LIMIT_MS = 60_000
const ID = 'record-0042'
const QUERY = { $limit: 10, age: { $gt: 20 } }
/** As browsers and the client percent-encode it. */
const QUERY_STRING = '%24limit=10&age%5B%24gt%5D=20'
const DATA = toNewRecord(1)

/** Returns the rows for a server with the service `records`. */
export function createRows(baseURL: string): readonly ClientRow[] {
  const url = `${baseURL}/records`
  const byOfetch = createClient({ baseURL }).service('records')
  return [
    {
      title: 'ofetch get',
      target: TARGET,
      service: () => byOfetch.get(ID),
      library: () => ofetch(`${url}/${ID}`),
      limited: () => ofetch(`${url}/${ID}`, { timeout: LIMIT_MS }),
    },
    {
      title: 'ofetch find',
      target: TARGET,
      service: () => byOfetch.find({ query: QUERY }),
      library: () => ofetch(`${url}?${QUERY_STRING}`),
      limited: () => ofetch(`${url}?${QUERY_STRING}`, { timeout: LIMIT_MS }),
    },
    {
      title: 'ofetch create',
      target: TARGET,
      service: () => byOfetch.create(DATA),
      library: () => ofetch(url, { method: 'POST', body: DATA }),
      limited: () => ofetch(url, { method: 'POST', body: DATA, timeout: LIMIT_MS }),
    },
  ]
}

import { ofetch } from 'ofetch'
import { createApp } from 'remex'
import { createClient, rest } from 'remex/client'
import undici from 'undici'
import { toNewRecord } from './rest-records.ts'

/** The same call by a service of the client, and as one writes it with the library alone. */
export interface ClientRow {
  readonly title: string
  /** How many times as much as the library a call may take. */
  readonly target: number
  readonly service: () => Promise<unknown>
  readonly library: () => Promise<unknown>
  /** The call by the library, with a time limit of the library's own: each call of the client has one. */
  readonly limited: () => Promise<unknown>
}

const TARGETS = { ofetch: 1.15, undici: 1.3 } as const

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
  const byUndici = createApp().configure(rest(baseURL).undici(undici)).service('records')
  return [
    {
      title: 'ofetch get',
      target: TARGETS.ofetch,
      service: () => byOfetch.get(ID),
      library: () => ofetch(`${url}/${ID}`),
      limited: () => ofetch(`${url}/${ID}`, { timeout: LIMIT_MS }),
    },
    {
      title: 'ofetch find',
      target: TARGETS.ofetch,
      service: () => byOfetch.find({ query: QUERY }),
      library: () => ofetch(`${url}?${QUERY_STRING}`),
      limited: () => ofetch(`${url}?${QUERY_STRING}`, { timeout: LIMIT_MS }),
    },
    {
      title: 'ofetch create',
      target: TARGETS.ofetch,
      service: () => byOfetch.create(DATA),
      library: () => ofetch(url, { method: 'POST', body: DATA }),
      limited: () => ofetch(url, { method: 'POST', body: DATA, timeout: LIMIT_MS }),
    },
    {
      title: 'undici get',
      target: TARGETS.undici,
      service: () => byUndici.get(ID),
      library: () => sendByUndici(`${url}/${ID}`),
      limited: () => sendByUndici(`${url}/${ID}`, { signal: AbortSignal.timeout(LIMIT_MS) }),
    },
    {
      title: 'undici find',
      target: TARGETS.undici,
      service: () => byUndici.find({ query: QUERY }),
      library: () => sendByUndici(`${url}?${QUERY_STRING}`),
      limited: () =>
        sendByUndici(`${url}?${QUERY_STRING}`, { signal: AbortSignal.timeout(LIMIT_MS) }),
    },
    {
      title: 'undici create',
      target: TARGETS.undici,
      service: () => byUndici.create(DATA),
      library: () => sendByUndici(url, toCreation()),
      limited: () => sendByUndici(url, { ...toCreation(), signal: AbortSignal.timeout(LIMIT_MS) }),
    },
  ]
}

function toCreation(): UndiciOptions {
  const headers = { 'content-type': 'application/json' }
  return { method: 'POST', headers, body: JSON.stringify(DATA) }
}

type UndiciOptions = NonNullable<Parameters<typeof undici.request>[1]>

/** Errors have to be told from records by hand there. */
async function sendByUndici(url: string, options: UndiciOptions = {}): Promise<unknown> {
  const { statusCode, body } = await undici.request(url, options)
  if (statusCode >= 400) throw new Error(await body.text())
  return body.json()
}

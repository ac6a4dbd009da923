import type { ServiceOptions } from 'remex'
import { startProtectedPlain } from './auth-plain.ts'
import { startProtectedRemex } from './auth-remex.ts'
import { AUDIENCE, getOwnRecord, ISSUER, SECRET, TYPE } from './auth-token.ts'
import type { Ports } from './child-answers.ts'
import { answerParent } from './child-answers.ts'
import { PEERS_FOLDER } from './peers-install.ts'
import { parseBrackets } from './rest-picoquery.ts'
import { startPlain } from './rest-plain.ts'
import { createRecord, findRecords, getRecord } from './rest-records.ts'
import { startRemex } from './rest-remex.ts'

// Runs one server of the benchmark `rest` in its own process.

/** The servers that are compared; those of peers are files of `bench/peers`. */
export type ServerKind =
  | 'plain'
  | 'plain without schema'
  | 'remex'
  | 'remex with schemas'
  | 'feathers-koa'
  | 'feathers-express'
  | 'hono'
  | 'elysia'

type Start = () => Promise<Ports>

/** By status: how errors are named, as services do it. */
const ERRORS: Readonly<Record<number, object>> = {
  401: { name: 'NotAuthenticated', className: 'not-authenticated' },
  404: { name: 'NotFound', className: 'not-found' },
}

/** What the servers of peers are given: the same work, secret and answers. */
const BENCH = {
  auth: { secret: SECRET, type: TYPE, audience: AUDIENCE, issuer: ISSUER },
  getRecord,
  findRecords,
  createRecord,
  getOwnRecord,
  parseBrackets,
  /** That of Fastify: with the five seconds of Node, connections are closed while others are measured. */
  keepAliveMs: 72_000,
  toMissing: (id: string) => `No record found for id '${id}'`,
  toError: (code: number, message: string) => ({ ...ERRORS[code], message, code }),
}

const OWN_KINDS: Readonly<Record<string, Start>> = {
  plain: () => startPlainServers(true),
  'plain without schema': () => startPlainServers(false),
  remex: () => startOwn({}),
  'remex with schemas': async () => {
    const { RECORD_SCHEMAS } = await import('./rest-record-schemas.ts')
    const { create: _create, ...read } = RECORD_SCHEMAS
    return startOwn({ schemas: RECORD_SCHEMAS }, { schemas: read })
  },
}

/** Fastify takes one query parser for all its routes. */
async function startPlainServers(hasSchema: boolean): Promise<Ports> {
  return {
    records: await startPlain({ hasSchema }),
    brackets: await startPlain({ hasSchema, parseQuery: parseBrackets }),
    bearer: await startProtectedPlain({ hasCache: true }),
    uncached: await startProtectedPlain({ hasCache: false }),
  }
}

/** @param read the options of a service with `get` alone */
async function startOwn(options: ServiceOptions, read: ServiceOptions = {}): Promise<Ports> {
  const records = await startRemex(options)
  return {
    records,
    brackets: records,
    bearer: await startProtectedRemex({ hasCache: true, options: read }),
    uncached: await startProtectedRemex({ hasCache: false, options: read }),
  }
}

async function startPeer(kind: string): Promise<Ports> {
  const file = new URL(`${kind}.mjs`, PEERS_FOLDER)
  const { start } = (await import(file.href)) as { start(bench: typeof BENCH): Promise<Ports> }
  return start(BENCH)
}

const kind = String(process.argv[2])
// Before anything of a peer is loaded: some of them explain errors at length elsewhere.
process.env['NODE_ENV'] = 'production'
await answerParent(OWN_KINDS[kind] ?? (() => startPeer(kind)))

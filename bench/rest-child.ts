import type { Ports } from './child-answers.ts'
import { answerParent } from './child-answers.ts'

// Runs one server in a process of its own. What a server does not need is not loaded: start and
// memory are measured as well.

/** The servers that are compared; `plain idle` has no more ports for brackets. */
export type ServerKind = 'remex' | 'plain' | 'plain without schema' | 'plain idle'

const KINDS: Readonly<Record<ServerKind, () => Promise<Ports>>> = {
  remex: async () => {
    const { startRemex } = await import('./rest-remex.ts')
    const records = await startRemex()
    return { records, brackets: records, qs: records }
  },
  plain: () => startPlainThrice(true),
  'plain without schema': () => startPlainThrice(false),
  'plain idle': async () => {
    const { startPlain } = await import('./rest-plain.ts')
    return { records: await startPlain({ hasSchema: true }) }
  },
}

/** Fastify takes one parser for all its routes. */
async function startPlainThrice(hasSchema: boolean): Promise<Ports> {
  const { startPlain } = await import('./rest-plain.ts')
  const { parseBrackets } = await import('./rest-picoquery.ts')
  const { parse } = await import('qs')
  return {
    records: await startPlain({ hasSchema }),
    brackets: await startPlain({ hasSchema, parseQuery: parseBrackets }),
    qs: await startPlain({ hasSchema, parseQuery: (text) => parse(text) }),
  }
}

const start = KINDS[process.argv[2] as ServerKind]
await answerParent(start)

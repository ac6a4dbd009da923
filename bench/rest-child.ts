import type { Ports } from './child-answers.ts'
import { answerParent } from './child-answers.ts'

// Runs one server in a process of its own. What a server does not need is not loaded: start and
// memory are measured as well.

/** The servers that are compared; those named `idle` have no more ports for brackets and schemas. */
export type ServerKind = 'remex' | 'remex idle' | 'plain' | 'plain without schema' | 'plain idle'

const KINDS: Readonly<Record<ServerKind, () => Promise<Ports>>> = {
  remex: async () => {
    const { startRemex } = await import('./rest-remex.ts')
    const records = await startRemex()
    const { startStored } = await import('./rest-stored.ts')
    const stored = await startStored({ hasSchemas: false })
    const described = await startStored({ hasSchemas: true })
    return { records, brackets: records, qs: records, stored, described }
  },
  'remex idle': async () => {
    const { startRemex } = await import('./rest-remex.ts')
    return { records: await startRemex() }
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
  const { startStoredPlain } = await import('./rest-stored.ts')
  const stored = await startStoredPlain({ hasSchema })
  return {
    records: await startPlain({ hasSchema }),
    stored,
    described: stored,
    brackets: await startPlain({ hasSchema, parseQuery: parseBrackets }),
    qs: await startPlain({ hasSchema, parseQuery: (text) => parse(text) }),
  }
}

const start = KINDS[process.argv[2] as ServerKind]
await answerParent(start)

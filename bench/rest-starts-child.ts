import { answerParent } from './child-answers.ts'

// Runs one server and loads nothing that it does not need: start and memory are measured.

export type StartKind = 'plain' | 'remex' | 'remex with schemas'

const KINDS: Readonly<Record<StartKind, () => Promise<number>>> = {
  plain: async () => {
    const { startPlain } = await import('./rest-plain.ts')
    return startPlain({ hasSchema: true })
  },
  remex: async () => {
    const { startRemex } = await import('./rest-remex.ts')
    return startRemex()
  },
  'remex with schemas': async () => {
    const { startRemex } = await import('./rest-remex.ts')
    const { RECORD_SCHEMAS } = await import('./rest-record-schemas.ts')
    return startRemex({ schemas: RECORD_SCHEMAS })
  },
}

await answerParent(async () => ({ records: await KINDS[process.argv[2] as StartKind]() }))

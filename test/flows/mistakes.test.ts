import t from 'tap'

import { ADAPTER_MISTAKES } from './mistakes/adapter.ts'
import { AUTHENTICATION_MISTAKES } from './mistakes/authentication.ts'
import { HOOK_MISTAKES } from './mistakes/hooks.ts'
import type { Mistake } from './mistakes/mistake.ts'
import { createTriedApp } from './mistakes/mistake.ts'
import { SERVER_MISTAKES } from './mistakes/server.ts'
import { SERVICE_MISTAKES } from './mistakes/services.ts'

const MISTAKES: readonly Mistake[] = [
  ...SERVICE_MISTAKES,
  ...HOOK_MISTAKES,
  ...AUTHENTICATION_MISTAKES,
  ...ADAPTER_MISTAKES,
  ...SERVER_MISTAKES,
]

const LEVEL = { warned: 'warn', logged: 'error' } as const

/** Makes a mistake; returns the texts at its place, and what the attempt resolved to. */
async function make({ place, attempt }: Mistake): Promise<{ texts: string[]; answer: unknown }> {
  const { app, logger } = createTriedApp()
  try {
    const answer = await attempt(app)
    if (place === 'thrown') return { texts: [], answer }
    const entries = logger.entries.filter(({ level }) => level === LEVEL[place])
    return { texts: entries.map(({ details, message }) => describe(details, message)), answer }
  } catch (error) {
    return { texts: [describe({ err: error })], answer: undefined }
  } finally {
    await app.fastify.close().catch(() => undefined)
  }
}

/** What somebody reads: the message, that of an error with its hint, and what is called. */
function describe(details: object, message = ''): string {
  const { err, service, method } = details as Record<string, unknown>
  const { message: cause = '', cause: { hint = '' } = {} } = (err ?? {}) as {
    message?: string
    cause?: { hint?: string }
  }
  return [message, cause, hint, service, method].filter(Boolean).join(' | ')
}

t.setTimeout(600_000)

for (const mistake of MISTAKES) {
  t.test(`says what to write instead: ${mistake.title}`, async (t) => {
    const { texts, answer } = await make(mistake)
    t.equal(texts.length, 1, texts.join('\n') || `nothing was ${mistake.place}`)
    t.match(texts[0], mistake.says)
    if (mistake.outside !== undefined) t.match(answer, mistake.outside)
  })
}

t.test('the table is as long as it is meant to be, and has no mistake twice', async (t) => {
  t.equal(new Set(MISTAKES.map(({ title }) => title)).size, MISTAKES.length)
  t.ok(MISTAKES.length >= 60, `${MISTAKES.length} mistakes`)
})

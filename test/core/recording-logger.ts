import type { Logger } from '../../src/core/index.ts'

interface Entry {
  readonly level: keyof Logger
  readonly details: object
  readonly message: string | undefined
}

/** A logger that keeps what it is told. */
export interface RecordingLogger extends Logger {
  readonly entries: Entry[]
}

export function createLogger(): RecordingLogger {
  const entries: Entry[] = []
  const write = (level: keyof Logger) => (details: object, message?: string) => {
    entries.push({ level, details, message })
  }
  return { entries, error: write('error'), warn: write('warn'), info: write('info') }
}

import type { FastifyApplication } from '../../../src/transport/index.ts'
import { createApp, fastifyApp, rest } from '../../../src/transport/index.ts'
import type { RecordingLogger } from '../../core/recording-logger.ts'
import { createLogger } from '../../core/recording-logger.ts'

/** An application that serves what is registered, and keeps what it logs. */
export interface TriedApp {
  readonly app: FastifyApplication
  readonly logger: RecordingLogger
}

/** Makes a mistake. An application is there for it, which is closed afterwards. */
export type Attempt = (app: FastifyApplication) => unknown

/** What a newcomer writes, and the text that has to say what to write instead. */
export interface Mistake {
  readonly title: string
  /** Where the text is: in what the attempt throws, or in one line of the log. */
  readonly place: 'thrown' | 'warned' | 'logged'
  readonly attempt: Attempt
  readonly says: string | RegExp
  /** What callers outside are told, where the attempt resolves to an answer. */
  readonly outside?: string | RegExp
}

export function thrown(title: string, attempt: Attempt, says: Mistake['says']): Mistake {
  return { title, place: 'thrown', attempt, says }
}

export function warned(
  title: string,
  attempt: Attempt,
  says: Mistake['says'],
  outside?: Mistake['outside'],
): Mistake {
  return { title, place: 'warned', attempt, says, ...(outside && { outside }) }
}

export function logged(
  title: string,
  attempt: Attempt,
  says: Mistake['says'],
  outside?: Mistake['outside'],
): Mistake {
  return { ...warned(title, attempt, says, outside), place: 'logged' }
}

export function createTriedApp(): TriedApp {
  const app = fastifyApp(createApp()).configure(rest())
  const logger = createLogger()
  app.logger = logger
  return { app, logger }
}

/** A request of a caller outside, as JSON. */
export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
  readonly data?: object
  readonly headers?: Record<string, string>
}

/** Asks twice, since a text is to be logged once. Resolves to the body of the second answer. */
export async function ask(app: FastifyApplication, asked: Asked): Promise<string> {
  const { url, data, headers = {} } = asked
  const method = asked.method ?? (data === undefined ? 'GET' : 'POST')
  const send = async (): Promise<string> => {
    const payload = data === undefined ? {} : { payload: data }
    return (await app.fastify.inject({ method, url, headers, ...payload })).body
  }
  await send()
  return send()
}

/** A service with one method. */
export const messages = { find: async () => [] }

/** For mistakes that the compiler tells as well. */
export function untyped(app: object): { [name: string]: (...values: unknown[]) => never } & {
  service(path: string): { [name: string]: (...values: unknown[]) => never }
} {
  return app as never
}

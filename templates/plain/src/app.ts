import type { Db } from 'mongodb'
import type { FastifyAppOptions } from 'remex'
import { createApp, developerPage, fastifyApp, openapi, rest } from 'remex'
import { realtime } from 'remex/realtime'
import type { Api, Services } from './api.ts'
import { addMessages } from './services/messages.ts'
// remex:imports

export interface ApiOptions {
  /** Options of pino, the logger. Default: JSON lines. */
  readonly logger?: FastifyAppOptions['logger']
}

/** Returns the application without starting it: server.ts starts one, and each test starts its own. */
export function createApi(db: Db, { logger = true }: ApiOptions = {}): Api {
  const app = fastifyApp(createApp<Services>(), { logger })
  app.configure(rest())
  // `find` with `Accept: text/event-stream` returns a stream of changes.
  app.configure(realtime())
  addMessages(app, db)
  // remex:services. `npx remex service notes` adds a line above this one, and one above remex:imports.
  // Services, hooks and the last calls at `/`: only in development, and only for browsers on this machine.
  app.configure(developerPage())
  app.configure(openapi({ info: { title: 'my-app', version: '1.0.0' } }))
  return app
}

// For clients: importing the types here includes all services added above.
export type { Services }

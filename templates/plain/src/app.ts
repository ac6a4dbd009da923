import type { Db } from 'mongodb'
import { createApp, developerPage, fastifyApp, openapi, rest } from 'remex'
import { realtime } from 'remex/realtime'
import type { Api, Services } from './api.ts'
import { addMessages } from './services/messages.ts'
// remex:imports

/** Returns the application, which does not listen yet: server.ts starts it, each test one of its own. */
export function createApi(db: Db, { logLevel = 'info' } = {}): Api {
  const app = fastifyApp(createApp<Services>(), { logger: { level: logLevel } })
  app.configure(rest())
  // `find` with `Accept: text/event-stream` is answered by a stream of what changes.
  app.configure(realtime())
  addMessages(app, db)
  // remex:services. `npx remex service notes` adds a line above this one, and one above remex:imports.
  // At `/`, only in development, and only for browsers on this machine: services, hooks and the last calls.
  app.configure(developerPage())
  app.configure(openapi({ info: { title: 'my-app', version: '1.0.0' } }))
  return app
}

// For clients: their types are those of the services that are added here.
export type { Services }

import express, { errorHandler, json, notFound, rest } from '@feathersjs/express'
import { feathers } from '@feathersjs/feathers'
import { addProtectedRecords, addRecords, listen } from './feathers.mjs'

/** Starts Feathers on Express. Queries in brackets are read by what it ships, qs. */
export async function start(bench) {
  const records = await startApp(bench, addRecords)
  const bearer = await startApp(bench, addProtectedRecords)
  return { records, brackets: records, bearer, uncached: bearer }
}

function startApp(bench, addServices) {
  const app = express(feathers())
  app.use(json())
  app.configure(rest())
  addServices(app, bench)
  app.use(notFound())
  // Its log is off: nobody else writes one.
  app.use(errorHandler({ logger: false }))
  return listen(app, bench)
}

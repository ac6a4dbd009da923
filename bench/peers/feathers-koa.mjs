import { feathers } from '@feathersjs/feathers'
import { bodyParser, errorHandler, koa, rest } from '@feathersjs/koa'
import { addProtectedRecords, addRecords, listen } from './feathers.mjs'

/** Starts Feathers on Koa. Queries in brackets are read by what it ships, qs. */
export async function start(bench) {
  const records = await startApp(bench, addRecords)
  const bearer = await startApp(bench, addProtectedRecords)
  return { records, brackets: records, bearer, uncached: bearer }
}

function startApp(bench, addServices) {
  const app = koa(feathers())
  app.use(errorHandler())
  app.use(bodyParser())
  app.configure(rest())
  addServices(app, bench)
  return listen(app, bench)
}

import { inspect } from 'node:util'
import t from 'tap'
import type { Application } from '../../../src/core/index.ts'
import { BadRequest, createApp, NotFound, toServiceError } from '../../../src/core/index.ts'

const PATHS = ['tasks', 'gigs', 'gigs/:gigId/requests', 'orgs/:orgId/users', 'Messages']
const OTHER_PATHS = ['admin/jobs', 'v1/api/reports', ':tenant']

function createServices(): Application {
  const app = createApp()
  for (const path of [...PATHS, ...OTHER_PATHS]) app.use(path, { find: async () => [] })
  return app
}

function find(app: Application, path: string): NotFound {
  try {
    app.service(path)
  } catch (error) {
    if (error instanceof NotFound) return error
    throw error
  }
  throw new Error(`There is a service '${path}'`)
}

const REQUESTS =
  ": use app.service('gigs/:gigId/requests') and pass { route: { gigId } } as params to its methods"
const JOBS = ": use app.service('admin/jobs') and pass the id to its methods"

const MEANT: readonly (readonly [path: string, advice: string])[] = [
  ['tsks', "; did you mean 'tasks'?"],
  ['/tsks/', "; did you mean 'tasks'?"],
  ['Tasks', "; did you mean 'tasks'?"],
  ['messages', "; did you mean 'Messages'?"],
  ['task s', "; did you mean 'tasks'?"],
  ['gigs/5/requests', REQUESTS],
  ['/gigs/5/requests/', REQUESTS],
  ['gigs/:id/requests', REQUESTS],
  ['gigs/:gigid/requests', REQUESTS],
  ['gigs/{gigId}/requests', REQUESTS],
  ['gigs//requests', REQUESTS],
  ['gigs/5/request', REQUESTS],
  ['gig/:gigId/requests', REQUESTS],
  [
    'orgs/1/users/2',
    ": use app.service('orgs/:orgId/users') and pass the id and { route: { orgId } } as params to its methods",
  ],
  ['admin/jobs/3', JOBS],
  ['admin/job/3', JOBS],
  ['admin/job', "; did you mean 'admin/jobs'?"],
  ['jobs', "; did you mean 'admin/jobs'?"],
  ['api/tasks', "; did you mean 'tasks'?"],
  ['http://127.0.0.1:3030/tasks', "; did you mean 'tasks'?"],
  ['api/reports', "; did you mean 'v1/api/reports'?"],
  ['a/b/c/d', `: registered are ${[...PATHS, ...OTHER_PATHS].join(', ')}`],
]

for (const [path, advice] of MEANT) {
  t.test(`names what app.service('${path}') may mean, for the author alone`, async (t) => {
    const error = find(createServices(), path)
    const shown = path.replace(/^\/|\/$/g, '')
    const message = `Can not find service '${shown}'`
    t.equal(error.message, message)
    t.equal(error.stack?.split('\n')[0], `NotFound: ${message}${advice}`)
    t.match(error, { code: 404, cause: { hint: `app.service('${shown}')${advice}` } })
    t.match(inspect(error), advice)
    t.equal(toServiceError(error), error)
    t.notMatch(JSON.stringify({ error, wrapped: new BadRequest(error) }), advice)
  })
}

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { LONG } from './long.ts'

/** A file of `npm test` for each feature, by the page of the documentation that describes it. */
const FEATURES: Readonly<Record<string, string>> = {
  'guides/accounts': 'flows/accounts',
  'guides/api-keys': 'auth/api-keys/api-key-strategy',
  'guides/application-layout': 'transport/services-plugin',
  'guides/audit': 'adapter/record-hooks/audit',
  'guides/conditional-requests': 'flows/conditional',
  'guides/deployment': 'transport/server/health-routes',
  'guides/files': 'flows/files',
  'guides/help-desk': 'flows/help-desk',
  'guides/jobs': 'adapter/jobs/jobs',
  'guides/migrating-from-feathers': 'cli/migrate',
  'guides/new-project': 'cli/new-service',
  'guides/oauth': 'flows/oauth/github-server',
  'guides/pages': 'flows/keyset-pages',
  'guides/repeats': 'adapter/record-hooks/idempotent',
  'guides/roles-and-owners': 'flows/protected-records',
  'guides/scaling': 'adapter/shard-key',
  'guides/sessions': 'flows/sessions/start',
  'guides/sign-up-and-tokens': 'flows/authentication',
  'guides/slugs': 'flows/conduit',
  'guides/soft-delete': 'adapter/record-hooks/soft-delete',
  'guides/streams': 'flows/open-streams',
  'guides/testing': 'client/libraries',
  'guides/webhooks': 'adapter/webhooks/webhooks',
  'guides/wire-formats': 'transport/formatter',
  'reference/authentication': 'flows/authentication-routes',
  'reference/client': 'client/client',
  'reference/client-login': 'client/authentication/authentication-client',
  'reference/differences-from-feathers': 'ecosystem/hooks',
  'reference/embedded': 'adapter/embedded/storage/expiry',
  'reference/error-codes': 'transport/errors/error-codes',
  'reference/errors': 'transport/errors/error-handler',
  'reference/hooks': 'flows/schema-hook-order',
  'reference/mongodb': 'adapter/mongodb-service',
  'reference/mongodb-types': 'flows/served-types',
  'reference/oauth': 'flows/oauth/start-settings',
  'reference/observing': 'transport/observing/prometheus',
  'reference/openapi': 'transport/openapi/openapi',
  'reference/pipelines': 'flows/pipelines',
  'reference/queries': 'flows/injection',
  'reference/realtime': 'transport/realtime/writes',
  'reference/realtime-client': 'client/realtime/live-connections',
  'reference/record-hooks': 'adapter/record-hooks/limit-to',
  'reference/resolvers': 'flows/resolvers',
  'reference/rest': 'flows/rest',
  'reference/schema-hooks': 'flows/schema-hook-order',
  'reference/schemas': 'flows/service-schemas',
  'reference/security': 'flows/http-surface',
  'reference/server': 'transport/server/server-lifecycle',
  'reference/services': 'transport/dynamic-services',
  'reference/socketio': 'transport/socketio/calls',
  'reference/tokens-and-passwords': 'client/authentication/location-token',
  'reference/transactions': 'flows/transactions',
}
/** What opens a server or connects to one; the program of the command line has none. */
const SOCKET = /\.listen\(|\bopenDatabase\(|\bstartEmbeddedMongo\(|\brunRemex\(/

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const toFile = (name: string) => `test/${name}.test.ts`

/** Returns a test with all that it imports from the tests. */
function readWhole(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return ''
  seen.add(file)
  const text = read(file)
  const imported = [...text.matchAll(/ from '(\.[^']+)'/g)]
    .map(([, path = '']) => normalize(join(dirname(file), path)).replaceAll('\\', '/'))
    .filter((path) => path.startsWith('test/') && existsSync(join(root, path)))
  return [text, ...imported.map((path) => readWhole(path, seen))].join('\n')
}

t.test('`npm test` has a test of each feature over a real socket', async (t) => {
  const pages = ['guides', 'reference'].flatMap((folder) =>
    readdirSync(join(root, 'docs', folder)).map((name) => `${folder}/${name.replace('.md', '')}`),
  )
  t.strictSame(Object.keys(FEATURES), pages.sort())
  for (const [page, name] of Object.entries(FEATURES)) {
    t.notOk(LONG.includes(name), `${page}: ${name} is left out`)
    t.ok(SOCKET.test(readWhole(toFile(name))), `${page}: ${name}`)
  }
})

t.test('what `npm test` leaves out are files, each named once and in their order', async (t) => {
  t.strictSame(LONG, [...new Set(LONG)].sort())
  for (const name of LONG) t.ok(existsSync(join(root, toFile(name))), name)
})

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { askToInstall } from '../../src/transport/missing-package.ts'

/** Rejects as an import does of a package that is not there. */
const load = (name: string): Promise<unknown> => import(name)

t.test('names the feature, its packages and the command to install them', async (t) => {
  const failed = load('no-such-package').catch(askToInstall('openapi()', 'a', '@b/c'))
  await t.rejects(failed, {
    message: "openapi() needs the packages 'a' and '@b/c': npm install a @b/c",
    cause: { code: 'ERR_MODULE_NOT_FOUND' },
  })
  const one = load('no-such-package').catch(askToInstall('serveStatic()', '@fastify/static'))
  await t.rejects(one, {
    message: "serveStatic() needs the package '@fastify/static': npm install @fastify/static",
  })
})

t.test('leaves the error of a package that is there as it is', async (t) => {
  for (const error of [new Error('broken'), 'text', undefined, null]) {
    await Promise.reject(error)
      .catch(askToInstall('compress()', '@fastify/compress'))
      .then(
        () => t.fail('rejects'),
        (thrown) => t.equal(thrown, error),
      )
  }
})

/** The functions that import a package when a server starts, and the packages that their errors ask for. */
const FEATURES: Readonly<Record<string, string>> = {
  'compress()': '@fastify/compress',
  "serveStatic({ root: '/' })": '@fastify/static',
  "openapi({ info: { title: 'T', version: '1' } })": '@fastify/swagger @fastify/swagger-ui yaml',
}

/** Hides these packages; it runs in a thread of its own. */
const LOADER = `
export function resolve(specifier, context, next) {
  const isHidden = /^@fastify\\/(compress|static|swagger)/.test(specifier)
  return next(isHidden ? 'no-such-package' : specifier, context)
}`

/** Prints why a server with each of the features does not start. */
const SCRIPT = `
import { register } from 'node:module'
register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(LOADER)}))
const { createApp, fastifyApp, rest, compress, serveStatic, openapi } = await import('remex')
for (const feature of [${Object.keys(FEATURES).join(', ')}]) {
  const app = fastifyApp(createApp()).configure(rest()).configure(feature)
  await app.listen().then(() => console.log('started'), (error) => console.log(String(error)))
}
process.exit()`

t.test('a server does not start without the package of a feature that it uses', async (t) => {
  const cwd = fileURLToPath(new URL('../../../', import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', SCRIPT],
    { cwd },
  )
  const said = stdout.trim().split('\n')
  const [, ...commands] = stdout.split(/^StartError: .*: npm install /m)
  t.strictSame(
    commands.map((text) => text.trim()),
    Object.values(FEATURES),
  )
  t.equal(said.length, commands.length, 'a line for each')
})

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

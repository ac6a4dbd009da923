import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyApplication } from '../../../src/transport/index.ts'
import {
  configuration,
  cors,
  createApp,
  errorHandler,
  fastifyApp,
  rest,
} from '../../../src/transport/index.ts'
import type { Mistake } from './mistake.ts'
import { messages, thrown, untyped, warned } from './mistake.ts'

type Variables = Readonly<Record<string, string>>

/** Configures an application with variables of the environment, and a folder with one file. */
function configure(app: FastifyApplication, toVariables: (folder: string) => Variables): void {
  const folder = mkdtempSync(join(tmpdir(), 'mistakes-'))
  const variables = toVariables(folder)
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  try {
    writeFileSync(join(folder, 'production.json'), '{"port":3030}')
    Object.assign(process.env, variables)
    app.configure(configuration())
  } finally {
    rmSync(folder, { recursive: true })
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

/** Mistakes about the server, its parts and its settings. */
export const SERVER_MISTAKES: readonly Mistake[] = [
  warned(
    'no rest()',
    async ({ logger }) => {
      const app = fastifyApp(createApp())
      app.logger = logger
      await app.use('users', messages).fastify.ready()
      await app.close()
    },
    'No request reaches the services: app.configure(rest()) is missing',
  ),
  thrown(
    'rest without a call',
    (app) => untyped(app)['configure']?.(rest),
    'app.configure(rest) lacks the call of rest: app.configure(rest())',
  ),
  thrown(
    'a part of the server at app.use()',
    (app) => untyped(app)['use']?.(cors()),
    "app.use('/') cannot take this: cors() belongs to app.configure(cors())",
  ),
  thrown(
    'rest() twice',
    (app) => app.configure(rest()),
    'rest() is configured already, and a server can have it once',
  ),
  thrown(
    'a mistyped option of rest()',
    () => rest({ handlerTimeout: 10 } as never),
    "rest(): unknown option 'handlerTimeout'; did you mean 'handlerTimeoutMs'?",
  ),
  thrown(
    'a mistyped option of errorHandler()',
    () => errorHandler({ loger: false } as never),
    "errorHandler(): unknown option 'loger'; did you mean 'logger'?",
  ),
  thrown(
    'a mistyped option of the server',
    () => fastifyApp(createApp(), { bodyLimt: 10 } as never),
    "unknown option 'bodyLimt'; did you mean 'bodyLimit'?",
  ),
  thrown(
    'a mistyped option of listen()',
    (app) => app.listen({ prot: 3030 } as never),
    "listen(): unknown option 'prot'; did you mean 'port'?",
  ),
  thrown(
    'a port that is none',
    (app) => app.listen('http'),
    "listen(): the port 'http' must be a whole number from 0 to 65535",
  ),
  thrown(
    'listen() twice',
    async (app) => {
      await app.listen(0)
      await app.listen(0)
    },
    'The application listens already, or is about to',
  ),
  thrown(
    'parts of the server after listen()',
    async (app) => {
      await app.listen(0)
      app.configure(errorHandler())
    },
    'The application has started: configure it before listen()',
  ),
  thrown(
    'a function of Express for errors',
    (app) => untyped(app)['use']?.((_error: 1, _request: 2, _reply: 3, _next: 4) => undefined),
    'takes 4 arguments: functions are (request, reply, done?)',
  ),
  thrown(
    'a part of the application that is asynchronous',
    (app) => untyped(app)['configure']?.(Promise.resolve()),
    'app.configure() takes a function (app), not a promise: await it first',
  ),
  thrown(
    'an application without a server',
    () => createApp().configure(rest() as never),
    'The application has no server: make one with fastifyApp(app)',
  ),
  thrown(
    'a folder of settings that is not there',
    (app) => app.configure(configuration({ directory: '/nowhere/config' })),
    "configuration(): the folder '/nowhere/config' does not exist: correct the option 'directory'",
  ),
  warned(
    'no folder of settings',
    (app) => configure(app, () => ({ NODE_CONFIG_DIR: '/nowhere/config' })),
    "configuration(): the folder '/nowhere/config' does not exist, so that it has no settings: create it, or name another by the option 'directory' or NODE_CONFIG_DIR",
  ),
  warned(
    'a mistyped NODE_ENV',
    (app) => configure(app, (folder) => ({ NODE_CONFIG_DIR: folder, NODE_ENV: 'prodution' })),
    "configuration(): no file is for NODE_ENV 'prodution'; did you mean 'production'?",
  ),
  warned(
    'a NODE_ENV that no file is for',
    (app) => configure(app, (folder) => ({ NODE_CONFIG_DIR: folder, NODE_ENV: 'staging' })),
    "configuration(): no file is for NODE_ENV 'staging', there are production.json",
  ),
  thrown(
    'settings in NODE_CONFIG that are no JSON',
    (app) => configure(app, (folder) => ({ NODE_CONFIG_DIR: folder, NODE_CONFIG: '{port:3030}' })),
    'The variable NODE_CONFIG must be an object in JSON',
  ),
]

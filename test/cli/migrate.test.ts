import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { createFolder, readFiles, runRemex } from './run-remex.ts'

type Test = Parameters<typeof createFolder>[0]

const MANIFEST = {
  dependencies: {
    '@feathersjs/configuration': '^5.0.50',
    '@feathersjs/feathers': '^5.0.50',
    '@feathersjs/koa': '^5.0.50',
    '@feathersjs/socketio': '^5.0.50',
    'feathers-swagger': '^3.0.0',
    mongodb: '^6.19.0',
  },
  devDependencies: { typescript: '^5.4.2' },
}

/** An application as small as it can be, with what the generator writes in each kind of file. */
const APPLICATION = {
  'package.json': JSON.stringify(MANIFEST),
  'tsconfig.json': '{\n  "compilerOptions": {\n    "module": "commonjs"\n  }\n}\n',
  'src/app.ts': `import { feathers } from '@feathersjs/feathers'
import configuration from '@feathersjs/configuration'
import { koa, rest, bodyParser, errorHandler, cors, serveStatic } from '@feathersjs/koa'
import socketio from '@feathersjs/socketio'
import mount from 'koa-mount'
import type { Application } from './declarations'

const app: Application = koa(feathers())
app.configure(configuration())
app.use(cors())
app.use(serveStatic(app.get('public')))
app.use(errorHandler())
app.use(bodyParser())
// app.use(cors())
app.use(async (ctx, next) => next())
app.configure(rest())
app.configure(socketio({ cors: { origin: app.get('origins') } }))
app.use('notes', new Notes())

export { app }
`,
  'src/declarations.ts': `import { HookContext as FeathersHookContext, NextFunction } from '@feathersjs/feathers'
import { Application as FeathersApplication } from '@feathersjs/koa'

export type { NextFunction }
export interface Configuration extends ApplicationConfiguration {}
export type Application = FeathersApplication<ServiceTypes, Configuration>
export type HookContext<S = any> = FeathersHookContext<Application, S>

declare module '@feathersjs/feathers' {
  interface Params {
    user?: User
  }
}
`,
  'src/index.ts': "import { app } from './app'\n\napp.listen(port).then(() => {})\n",
  'src/channels.ts': `import type { RealTimeConnection, Params } from '@feathersjs/feathers'
import type { AuthenticationResult } from '@feathersjs/authentication'
import '@feathersjs/transport-commons'

app.publish((data: any) => app.channel('authenticated'))
`,
  'src/notes.class.ts': `import type { Params } from "@feathersjs/feathers";
import { MongoDBService } from "@feathersjs/mongodb";
import type { MongoDBAdapterOptions } from "@feathersjs/mongodb";

export class NoteService<ServiceParams extends Params = NoteParams> extends MongoDBService<
  Note,
  NoteData,
  NoteParams,
  NotePatch
> {}

export const getOptions = (app: Application): MongoDBAdapterOptions => {
  return { paginate: app.get("paginate"), multi: true };
};
`,
  'src/notes.shared.ts': `import type { Params } from '@feathersjs/feathers'
export const noteMethods: Array<keyof NoteService> = [
  'find',
  'get'
]
`,
  'src/errors.ts': `import { NotFound, FeathersError } from '@feathersjs/errors'
import { hooks, LocalStrategy } from '@feathersjs/authentication-local'
const text = \`
import { NotFound } from '@feathersjs/errors'
\`
`,
  'src/other.ts': 'export const unrelated = 1\n',
  'test/app.test.ts': `import type { Server } from 'http'
import { app } from '../src/app'

describe('tests', () => {
  let server: Server

  before(async () => {
    server = await app.listen(port)
  })

  after(async () => {
    await app.teardown()
  })

  it('starts', () => {})
})
`,
}

const git = (folder: string, ...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
    cwd: folder,
    stdio: 'pipe',
  })

function write(folder: string, files: Readonly<Record<string, string>>) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** Returns the folder of an application of which git knows all files. */
function createApplication(t: Test, files: Readonly<Record<string, string>> = APPLICATION) {
  const folder = createFolder(t)
  write(folder, files)
  git(folder, 'init', '-q')
  git(folder, 'add', '.')
  git(folder, 'commit', '-qm', 'all')
  return folder
}

/** Returns the files of a folder without those of git. */
const readOwn = (folder: string) =>
  Object.fromEntries(
    Object.entries(readFiles(folder)).filter(([path]) => !path.startsWith('.git/')),
  )

t.test('shows the edits by file, and writes nothing', async (t) => {
  const folder = createApplication(t)
  const { status, stdout, stderr } = await runRemex(folder, 'migrate')
  t.strictSame([status, stderr], [0, ''])
  t.match(stdout, '--- src/app.ts\n@@ line 1\n-import { feathers }')
  t.match(stdout, '\n-app.use(errorHandler())\n-app.use(bodyParser())\n')
  t.match(stdout, /^\d+ edits in 9 files, and the new file test\/server\.ts\. Nothing was written/m)
  t.notMatch(stdout, 'src/other.ts')
  t.strictSame(readOwn(folder), APPLICATION)
})

t.test('--write makes the edits of the guide', async (t) => {
  const folder = createApplication(t)
  await runRemex(folder, 'migrate', '--write')
  const files = readOwn(folder)
  t.equal(
    files['src/app.ts'],
    `import { resolve as toPath } from 'node:path'
import { configuration, rest, cors, serveStatic, createApp, fastifyApp } from 'remex'
import { socketio } from 'remex/socketio'
import mount from 'koa-mount'
import type { Application } from './declarations'

const app: Application = fastifyApp(createApp())
app.configure(configuration())
app.configure(cors())
app.configure(serveStatic({ root: toPath(app.get('public')) }))
// app.use(cors())
app.use(async (ctx, next) => next())
app.configure(rest())
app.configure(socketio({ cors: { origin: app.get('origins') } }))
app.use('notes', new Notes())

export { app }
`,
  )
  t.match(files['src/declarations.ts'], "import type { FastifyApplication } from 'remex'")
  t.match(files['src/declarations.ts'], 'paginate: { default: number; max: number }')
  t.match(files['src/declarations.ts'], 'FastifyApplication<ServiceTypes, Configuration>')
  t.match(
    files['src/declarations.ts'],
    /module 'remex' \{\s*interface DeclaredTypes \{\s*user: User/,
  )
  t.match(files['src/index.ts'], "app.listen(port, '0.0.0.0')")
  t.equal(
    files['src/channels.ts'],
    `import type { RealTimeConnection } from '@feathersjs/feathers'
import type { Params } from 'remex'
import type { AuthenticationResult } from 'remex/auth'

app.publish((data: any) => app.channel('authenticated'))
`,
    'only its imports',
  )
  t.match(files['src/notes.class.ts'], /^import type \{ Params \} from "remex";$/m, 'in its style')
  t.match(files['src/notes.class.ts'], 'NoteParams\n> {}')
  t.match(files['src/notes.class.ts'], 'MongoDBAdapterOptions & { paginate: PageSize } =>')
  t.match(files['src/notes.shared.ts'], "import type { Params } from '@feathersjs/feathers'")
  t.match(files['src/notes.shared.ts'], "Methods = [\n  'find',\n  'get'\n] as const")
  t.match(files['src/errors.ts'], "import { NotFound } from 'remex/errors'\n")
  t.match(files['src/errors.ts'], "`\nimport { NotFound } from '@feathersjs/errors'\n`")
  t.notMatch(files['test/app.test.ts'], /listen|teardown|server/i)
  t.match(files['test/server.ts'], "before(() => app.listen(app.get('port'), app.get('host')))")
  t.match(files['tsconfig.json'], '"module": "nodenext",\n    "skipLibCheck": true')
  t.equal(files['package.json'], APPLICATION['package.json'], 'npm changes the packages')
})

t.test('reports what it leaves to a person, and the commands for the packages', async (t) => {
  const folder = createApplication(t)
  const { stdout } = await runRemex(folder, 'migrate', '--write')
  const lines = [
    'src/app.ts:12: Koa or Express middleware',
    'src/errors.ts:1: FeathersError of @feathersjs/errors has no counterpart',
    'src/errors.ts:3: hooks of @feathersjs/authentication-local has no counterpart',
    'src/index.ts:3: a failed start rejects',
    'src/notes.class.ts:12: external calls cannot patch or remove many records',
    'package.json: feathers-swagger: works only with Express and Koa',
  ]
  for (const line of lines) t.match(stdout, line)
  t.match(stdout, 'npm uninstall @feathersjs/configuration @feathersjs/koa @feathersjs/socketio\n')
  t.match(stdout, 'npm install remex fastify @fastify/static config socket.io@4 mongodb@^6.22.0\n')
  t.match(stdout, 'npm install --save-dev typescript@^5.9.0')
})

t.test('finds nothing to edit where it has been', async (t) => {
  const folder = createApplication(t)
  await runRemex(folder, 'migrate', '--write')
  const before = readOwn(folder)
  const { stdout } = await runRemex(folder, 'migrate', '--write', '--force')
  t.match(stdout, '0 edits in 0 files.')
  t.strictSame(readOwn(folder), before)
})

t.test('runs tests in JavaScript by a JavaScript file, only where they started it', async (t) => {
  const test = APPLICATION['test/app.test.ts'].replace('/app', '/app.js')
  const app = APPLICATION['src/app.ts']
  const { 'package.json': manifest } = APPLICATION
  const js = { 'package.json': manifest, 'src/app.js': app, 'test/app.test.js': test }
  const folder = createApplication(t, js)
  await runRemex(folder, 'migrate', '--write')
  t.match(readOwn(folder)['test/server.js'], /^import \{ app \} from '\.\.\/src\/app\.js'\n/)
  const other = { 'package.json': manifest, 'test/a.test.ts': APPLICATION['src/errors.ts'] }
  t.notMatch((await runRemex(createApplication(t, other), 'migrate')).stdout, 'the new file')
})

t.test('keeps the ends of lines, and follows no links', async (t) => {
  const app = APPLICATION['src/app.ts'].replaceAll('\n', '\r\n')
  const folder = createApplication(t, {
    'package.json': APPLICATION['package.json'],
    'src/app.ts': app,
  })
  const other = createFolder(t)
  write(other, { 'a.ts': APPLICATION['src/errors.ts'] })
  symlinkSync(other, join(folder, 'src/linked'))
  await runRemex(folder, 'migrate', '--write', '--force')
  t.notMatch(readOwn(folder)['src/app.ts'], /[^\r]\n/)
  t.equal(readFiles(other)['a.ts'], APPLICATION['src/errors.ts'])
})

t.test('writes only what git can bring back', async (t) => {
  const folder = createApplication(t)
  write(folder, { 'src/new.ts': 'mine\n' })
  const changed = await runRemex(folder, 'migrate', '--write')
  t.match(changed, { status: 1, stdout: '' })
  t.match(changed.stderr, /uncommitted changes.*--force/)
  const bare = createFolder(t)
  write(bare, APPLICATION)
  const { status, stderr } = await runRemex(bare, 'migrate', '--write')
  t.equal(status, 1)
  t.match(stderr, /no git repository.*--force/)
  t.strictSame(readFiles(bare), APPLICATION)
  t.match(await runRemex(bare, 'migrate', '--write', '--force'), { status: 0 })
})

t.test('refuses what is no application of Feathers 5', async (t) => {
  const folder = createFolder(t)
  t.match((await runRemex(folder, 'migrate')).stderr, 'no package.json')
  write(folder, { 'package.json': '{}' })
  t.match((await runRemex(folder, 'migrate')).stderr, 'does not list @feathersjs/feathers')
  write(folder, { 'package.json': '{"dependencies":{"@feathersjs/feathers":"^4.5.15"}}' })
  t.match((await runRemex(folder, 'migrate')).stderr, /is \^4\.5\.15: migrate to version 5 first/)
  t.match((await runRemex(folder, 'migrate', 'src')).stderr, "Unexpected argument 'src'")
  t.match(
    (await runRemex(folder, 'migrate', '--wrote')).stderr,
    /'--wrote'.*Options are --write --force\. \[INVALID_COMMAND\]$/m,
  )
})

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createFolder, readFiles, runRemex } from './run-remex.ts'

const APP = 'src/app.ts'

/** Resolves to the folder of a new project. */
async function createProject(t: Parameters<typeof createFolder>[0], ...flags: string[]) {
  const folder = createFolder(t)
  await runRemex(folder, 'new', 'shop', ...flags)
  return join(folder, 'shop')
}

for (const flag of ['--logins', '--no-logins']) {
  t.test(`adds a service and its test to a project with ${flag}`, async (t) => {
    const project = await createProject(t, flag)
    const before = readFiles(project)
    const { status, stdout } = await runRemex(project, 'service', 'notes')
    t.equal(status, 0)
    t.match(stdout, 'src/services/notes.ts')
    const {
      'src/services/notes.ts': service,
      'test/notes.test.ts': test,
      ...after
    } = readFiles(project)
    t.match(service, "app.use('notes', service, notesOptions)")
    t.equal(/\bownerId\b/.test(service ?? ''), flag === '--logins')
    t.match(test, "service('notes')")
    t.notMatch(`${service}${test}`, /messages/i)
    t.strictSame({ ...after, [APP]: '' }, { ...before, [APP]: '' }, 'nothing else has changed')
  })
}

t.test('adds its lines above the marks, and leaves all others as they are', async (t) => {
  const project = await createProject(t, '--no-logins')
  const file = join(project, APP)
  const own = '// mine: addNotes(\r\n\t// remex:imports\r\nclass {{{\r\n    // remex:services\r\n`'
  writeFileSync(file, own)
  t.equal((await runRemex(project, 'service', 'admin/audit-logs')).status, 0)
  const [first, second] = [
    "\timport { addAdminAuditLogs } from './services/admin-audit-logs.ts'\r\n",
    '    addAdminAuditLogs(app, db)\r\n',
  ]
  const text = readFileSync(file, 'utf8')
  t.equal(text.replace(first, '').replace(second, ''), own)
  t.ok(text.includes(`${first}\t// remex:imports`) && text.includes(`${second}    // remex:serv`))
})

t.test('a project of an older version has the types of its services in app.ts', async (t) => {
  const project = await createProject(t, '--no-logins')
  rmSync(join(project, 'src/api.ts'))
  await runRemex(project, 'service', 'notes')
  const service = readFiles(project)['src/services/notes.ts']
  t.match(service, "import type { Api } from '../app.ts'")
  t.match(service, "declare module '../app.ts'")
})

t.test('a path with a hyphen has a name in each place that takes none', async (t) => {
  const project = await createProject(t, '--no-logins')
  await runRemex(project, 'service', 'audit-logs')
  const service = readFiles(project)['src/services/audit-logs.ts']
  t.match(service, "'audit-logs': Served<AuditLogsService, typeof auditLogsOptions>")
})

/** What is refused, and what the sentence about it says. */
const REFUSALS: readonly (readonly [words: string[], sentence: RegExp])[] = [
  [[], /The path is missing/],
  [['notes', 'tags'], /Unexpected argument 'tags'/],
  [['notes', '--logins'], /Unknown option '--logins'\. This command has no options/],
  [['messages'], /src\/services\/messages\.ts already exists/],
  [['users'], /'users' is used by Remex or its logins/],
  [['docs/notes'], /'docs' is used by Remex/],
  ...['', 'Notes', '/notes', 'notes/', '../notes', 'a//b', ':id', 'a b', '1st', 'a_b', 'ä'].map(
    (path) =>
      [[path], /is not a valid service path.*lower-case/] as const satisfies [string[], RegExp],
  ),
]

t.test('refuses in one sentence, and writes nothing', async (t) => {
  const project = await createProject(t)
  const before = readFiles(project)
  for (const [words, sentence] of REFUSALS) {
    const { status, stdout, stderr } = await runRemex(project, 'service', ...words)
    t.strictSame([status, stdout], [1, ''], words.join(' '))
    t.match(stderr, sentence)
    t.equal(stderr.trim().split('\n').length, 1, 'without a stack')
  }
  t.strictSame(readFiles(project), before)
})

t.test('refuses a folder that is no project, and one whose mark is gone', async (t) => {
  const project = await createProject(t)
  const { stderr } = await runRemex(join(project, 'src'), 'service', 'notes')
  t.match(stderr, /no src\/app\.ts here/)
  const file = join(project, APP)
  writeFileSync(file, readFileSync(file, 'utf8').replace('// remex:services', '// services'))
  const before = readFiles(project)
  const refused = await runRemex(project, 'service', 'notes')
  t.match(refused, { status: 1, stderr: "no line '// remex:services' to insert this above" })
  t.match(refused.stderr, 'addNotes(app, db)')
  t.strictSame(readFiles(project), before)
})

import { readFileSync } from 'node:fs'
import t from 'tap'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const ci = read('.ci/run')

/** The commands of the steps of CI; a script waits for the answer of one that starts a server. */
const STEP = /^(?:\w+=\w+ )?step \w+ (?:node scripts\/check-program\.mjs )?(.+)$/gm
const steps = new Set([...ci.matchAll(STEP)].map(([, command]) => command))

/** Returns the commands in the blocks of a shell on a page, without comments and line continuations. */
function findCommands(page: string): string[] {
  const blocks = [...read(page).matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
  const lines = blocks.flatMap((text) => text.replaceAll('\\\n', '').split('\n'))
  return lines
    .flatMap((line) => line.replace(/ # .*$/, '').split(' && '))
    .map((command) => command.trim())
    .filter((command) => command !== '')
}

/**
 * The scripts that run the commands of the README for users of the package: each has a line that only this
 * command needs.
 */
const USER_COMMANDS: Readonly<Record<string, readonly [script: string, line: string]>> = {
  'npm install remex fastify': ['check-consumer', 'tarball, ...newest'],
  'npm install remex fastify mongodb': ['check-consumer', 'tarball, ...newest'],
  'npx tsx node_modules/remex/examples/accounts.ts': ['check-consumer', "'accounts.ts'"],
  'npx remex new my-app': ['check-new-projects', "remex(root, 'new', name"],
  'cd my-app': ['check-tutorial', 'this.folder = join(this.folder, name)'],
  'npm install': ['check-tutorial', 'desk.followPage(readBlocks('],
  'npm run dev': ['check-tutorial', "block.text.includes('npm run dev')"],
}

for (const page of ['README.md', 'CONTRIBUTING.md']) {
  t.test(`CI runs every command of ${page} for a checkout, word for word`, async (t) => {
    const commands = findCommands(page).filter((command) => !isForUsers(command))
    for (const command of ['npm ci', 'npm start', 'npm test'])
      t.ok(commands.includes(command), command)
    for (const command of commands) t.ok(steps.has(command), command)
  })
}

t.test('CI runs every command of the README for users', async (t) => {
  const commands = findCommands('README.md').filter((command) => command in USER_COMMANDS)
  t.strictSame(new Set(commands), new Set(Object.keys(USER_COMMANDS)))
  for (const [script, line] of Object.values(USER_COMMANDS)) {
    t.match(ci, `node scripts/${script}.mjs`)
    t.ok(read(`scripts/${script}.mjs`).includes(line), `${script}: ${line}`)
  }
})

t.test('a command that CI runs with other words is found out', async (t) => {
  for (const command of ['npm run test', 'npm', '']) t.notOk(steps.has(command), command)
})

/** Whether a command is one of USER_COMMANDS, or sends a request to the server of a new project. */
function isForUsers(command: string): boolean {
  return command in USER_COMMANDS || /^(JSON=|curl )/.test(command)
}

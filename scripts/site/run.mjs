// Builds the documentation site into `build-site`, or serves it while it is written: `npm run docs`, `npm run docs:dev`.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const [command = 'build', ...options] = process.argv.slice(2)

// Its packages are no part of the project's, so that `npm ci` there stays as it is.
if (!existsSync(`${folder}node_modules/vitepress`)) run('npm ci --no-audit --no-fund')
run(['npx --no-install vitepress', command, ...options].join(' '))

function run(line) {
  const { status } = spawnSync(line, { cwd: folder, stdio: 'inherit', shell: true })
  if (status !== 0) process.exit(status ?? 1)
}

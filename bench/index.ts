import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Only by name: `realtime` installs packages, and `auth-timing` compares no costs.
const BENCHES = [
  'core',
  'ticks',
  'adapter',
  'adapter-memory',
  'embedded',
  'jobs',
  'rest',
  'rest-schemas',
  'pages',
  'streams',
  'files',
  'observing',
  'auth',
  'heap',
  'faults',
  'client',
  'types',
  'schema',
  'schema-types',
]

const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))

// One process each: what one bench leaves in the heap or teaches the compiler would tint the next.
for (const name of names.length > 0 ? names : BENCHES) {
  const file = fileURLToPath(new URL(`./${name}.js`, import.meta.url))
  if (!existsSync(file)) {
    console.log(`${name}: not there`)
    if (names.includes(name)) process.exitCode = 1
    continue
  }
  console.log(`\n# ${name}`)
  const { status } = spawnSync(process.execPath, [...process.execArgv, file, ...options], {
    stdio: 'inherit',
  })
  if (status !== 0) process.exitCode = 1
}

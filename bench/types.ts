import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { printTable } from './table.ts'
import { createClientProgram, createServer } from './types-program.ts'

// What the compiler needs for a server of 200 services and for a client of it, beside those of one
// service: node build/bench/types.js [--services 200] [--gate]

const MAX_SECONDS = 5
const MAX_MEGABYTES = 400

const { values } = parseArgs({
  options: {
    services: { type: 'string', default: '200' },
    gate: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
})

const root = fileURLToPath(new URL('../../', import.meta.url))
const compiler = join(root, 'node_modules/typescript/bin/tsc')

interface Cost {
  readonly seconds: number
  readonly megabytes: number
}

const columns = ['', 'services', 'seconds', 'memory']
printTable(
  columns,
  columns.map(() => '---'),
)
const counts = [1, Number(values.services)]
const programs = [
  ['server', createServer],
  ['client', createClientProgram],
] as const
for (const [title, create] of programs) {
  for (const count of counts) {
    const { seconds, megabytes } = measure(create(count))
    printTable([title, String(count), seconds.toFixed(2), `${megabytes.toFixed(0)} MB`])
    const isMet = seconds <= MAX_SECONDS && megabytes <= MAX_MEGABYTES
    if (values.gate && !isMet) process.exitCode = 1
  }
}
console.log(`\nAt most ${MAX_SECONDS} s and ${MAX_MEGABYTES} MB.`)

/** Compiles a program. @throws {Error} it has an error, or nothing was measured */
function measure(files: Readonly<Record<string, string>>): Cost {
  // Inside the package, so that its own name leads to what was built.
  mkdirSync(join(root, 'build'), { recursive: true })
  const folder = mkdtempSync(join(root, 'build/types-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text)
    }
    const config = { extends: '../../tsconfig.json', include: ['*.ts'], exclude: [] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const { stdout, status } = spawnSync(
      process.execPath,
      [compiler, '-p', folder, '--extendedDiagnostics', '--pretty', 'false'],
      { encoding: 'utf8' },
    )
    if (status !== 0) throw new Error(`The program does not compile:\n${stdout.slice(0, 4000)}`)
    return {
      seconds: read(stdout, /^Total time:\s+([\d.]+)s/m),
      megabytes: read(stdout, /^Memory used:\s+([\d.]+)K/m) / 1024,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function read(output: string, pattern: RegExp): number {
  const value = Number(pattern.exec(output)?.[1])
  if (value > 0) return value
  throw new Error(`The compiler does not say ${pattern}:\n${output}`)
}

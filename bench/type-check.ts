import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const compiler = join(root, 'node_modules/typescript/bin/tsc')

/** What the compiler needs for a program. */
export interface TypeCheckCost {
  readonly seconds: number
  readonly megabytes: number
}

/** Compiles files, by their names. @throws {Error} they have an error, or nothing was measured */
export function measureTypeCheck(files: Readonly<Record<string, string>>): TypeCheckCost {
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

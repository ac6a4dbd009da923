import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const compiler = join(root, 'node_modules/typescript/bin/tsc')

/**
 * Resolves to what the compiler says about files that import `remex`, by name and text: one string for
 * each error, `'app.ts(3): error TS2353: …'`, with all of its lines.
 */
export async function compile(
  t: Test,
  files: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  // Inside the package, so that its own name leads to what was built.
  await mkdir(join(root, 'build'), { recursive: true })
  const folder = await mkdtemp(join(root, 'build/compile-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const compilerOptions = { jsx: 'preserve' }
  const config = { extends: '../../tsconfig.json', compilerOptions, include: ['*.ts', '*.tsx'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const output = await new Promise<string>((resolve, reject) => {
    // The test runner has every child process load its hooks, with which the compiler does not start.
    const start = ['-u', 'NODE_OPTIONS', process.execPath, compiler]
    execFile('env', [...start, '--pretty', 'false', '-p', folder], (error, stdout, stderr) => {
      if (stderr === '' && (error === null || stdout !== '')) resolve(stdout)
      else reject(new Error(`The compiler has failed: ${stderr}`, { cause: error }))
    })
  })
  return output
    .replaceAll('\r', '')
    .replaceAll(`${relative(process.cwd(), folder).replaceAll('\\', '/')}/`, '')
    .split(/\n(?=\S)/)
    .map((error) => error.trim().replace(/^(\S+)\((\d+),\d+\)/, '$1($2)'))
    .filter((error) => error !== '')
}

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The program as `npx remex` starts it. */
export const PROGRAM: string = join(root, readManifest().bin.remex)

export interface Manifest {
  readonly version: string
  readonly bin: { readonly remex: string }
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  readonly engines: { readonly node: string }
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** Returns the package.json of this package, or of a folder. */
export function readManifest(folder: string = root): Manifest & { readonly name: string } {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/** Returns an empty folder, which is removed after the test. */
export function createFolder(t: Test): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'remex-cli-')))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Runs `remex` in a folder, without a terminal. Resolves to its status and what it has printed. */
export async function runRemex(folder: string, ...words: string[]) {
  const child = spawn(process.execPath, [PROGRAM, ...words], { cwd: folder })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const [status] = await once(child, 'close')
  return { status, stdout, stderr }
}

/** Returns the texts of all files of a folder by their paths. */
export function readFiles(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map(({ parentPath, name }) => {
      const path = join(parentPath, name)
      return [path.slice(folder.length + 1).replaceAll('\\', '/'), readFileSync(path, 'utf8')]
    }),
  )
}

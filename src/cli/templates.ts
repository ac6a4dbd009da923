import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// From `dist/cli/main.js`, the one file that all of this is bundled into.
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The version of this package. */
export const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version

/** Texts by their paths in a project, with slashes. */
export type Files = Readonly<Record<string, string>>

/**
 * Returns the files of some folders of `templates`. Of files with the same path the last one counts,
 * but the lines of all `.env.example` follow each other.
 */
export function readTemplates(folders: readonly string[]): Files {
  const files: Record<string, string> = {}
  for (const folder of folders) {
    const root = join(ROOT, 'templates', folder)
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const file = join(entry.parentPath, entry.name)
      const path = relative(root, file).replaceAll('\\', '/')
      // npm would take one with a dot as its own, and rename it.
      const name = path === 'gitignore' ? '.gitignore' : path
      const before = name === '.env.example' ? (files[name] ?? '') : ''
      files[name] = before + readFileSync(file, 'utf8')
    }
  }
  return files
}

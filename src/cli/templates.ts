import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// Relative to `dist/cli/main.js`, into which all of this is bundled.
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The version of this package. */
export const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version

/** Texts by their paths in a project, with slashes. */
export type Files = Readonly<Record<string, string>>

/**
 * Returns the files of some folders of `templates`. Of files with the same path the last one wins, but all
 * `.env.example` files are concatenated.
 */
export function readTemplates(folders: readonly string[]): Files {
  const files: Record<string, string> = {}
  for (const folder of folders) {
    const root = join(ROOT, 'templates', folder)
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const file = join(entry.parentPath, entry.name)
      const path = relative(root, file).replaceAll('\\', '/')
      // npm would use a `.gitignore` itself when it packs, and rename it.
      const name = path === 'gitignore' ? '.gitignore' : path
      const before = name === '.env.example' ? (files[name] ?? '') : ''
      files[name] = before + readFileSync(file, 'utf8')
    }
  }
  return files
}

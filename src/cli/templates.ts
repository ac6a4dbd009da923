import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

// Relative to `dist/cli/main.js`, into which all of this is bundled.
const ROOT = resolve(fileURLToPath(new URL('../..', import.meta.url)))

/** The version of this package. */
export const VERSION: string = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version

/**
 * Returns the version range of this package for a new project, or the file, folder or address that npm installed this
 * copy from: a version that was never published cannot be installed.
 */
export function findSource(): string {
  const modules = dirname(ROOT)
  if (basename(modules) !== 'node_modules') return `file:${ROOT}`
  const lock = join(modules, '.package-lock.json')
  if (!existsSync(lock)) return `^${VERSION}`
  const { resolved = '' } =
    JSON.parse(readFileSync(lock, 'utf8')).packages?.['node_modules/remex'] ?? {}
  if (resolved.startsWith('file:')) return `file:${resolve(modules, '..', resolved.slice(5))}`
  // The tarballs of registries have this path.
  const isRelease = resolved === '' || /\/remex\/-\/[^/]+\.tgz$/.test(resolved)
  return isRelease ? `^${VERSION}` : resolved
}

/** Texts by their paths in a project, with slashes. */
export type Files = Readonly<Record<string, string>>

/** Files with another name in `templates`, where npm and Biome would read them themselves. */
const RENAMED: Files = { gitignore: '.gitignore', 'biome.template.json': 'biome.json' }

/** Files to which each folder adds its part. */
const CONCATENATED: readonly string[] = ['.env.example', 'AGENTS.md']

/**
 * Returns the files of some folders of `templates`. Of files with the same path the last one wins, except those that
 * are concatenated.
 */
export function readTemplates(folders: readonly string[]): Files {
  const files: Record<string, string> = {}
  for (const folder of folders) {
    const root = join(ROOT, 'templates', folder)
    for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const file = join(entry.parentPath, entry.name)
      const path = relative(root, file).replaceAll('\\', '/')
      const name = RENAMED[path] ?? path
      const before = CONCATENATED.includes(name) ? (files[name] ?? '') : ''
      files[name] = before + readFileSync(file, 'utf8')
    }
  }
  return files
}

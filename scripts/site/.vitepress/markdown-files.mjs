// The pages as Markdown, for programs that read: `/docs/guides/pages.md` next to `/docs/guides/pages.html`.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { readIndex } from './navigation.mjs'
import { listPrograms, root } from './programs.mjs'

/**
 * Writes each page and each program below the path that it has in the repository, so that links between them hold,
 * `llms.txt` with the list of pages, and `llms-full.txt` with the text of those for users.
 */
export function writeMarkdownFiles({ pages, outDir }, description) {
  const files = pages.filter((page) => !page.startsWith('scripts/'))
  for (const path of [...files, ...listPrograms()]) {
    mkdirSync(dirname(join(outDir, path)), { recursive: true })
    copyFileSync(join(root, path), join(outDir, path))
  }
  const head = `# Remex\n\n> ${description}\n`
  writeFileSync(join(outDir, 'llms.txt'), `${head}\n${toList()}`)
  const texts = listPages().map((page) => `<!-- ${page} -->\n\n${read(page)}`)
  writeFileSync(join(outDir, 'llms-full.txt'), [head, ...texts].join('\n'))
}

/** Returns the lists of docs/README.md with links from the root; the last is what a reader in a hurry may skip. */
function toList() {
  const [intro, ...sections] = read('docs/README.md').split(/^(?=## )/m)
  const lists = sections.join('').replace('\n## Project\n', '\n## Optional\n')
  const text = `${intro.replace(/^# .*\n+/, '')}${lists}`
  return text.replace(/\]\(([^):#]+)/g, (_, path) => `](${posix.join('docs', path)}`)
}

/** Returns the paths of the README, and of the pages of tutorial, guides and reference in their order. */
function listPages() {
  const sections = readIndex('docs/README.md').filter(({ text }) => text !== 'Project')
  const links = sections.flatMap(({ items }) => items.map(({ link }) => link.slice(1)))
  return ['README.md', ...new Set(links.map((link) => link.replace(/html$/, 'md')))]
}

function read(path) {
  return readFileSync(join(root, path), 'utf8')
}

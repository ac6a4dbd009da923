// The navigation of the site, read off the pages that list the others.
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'

const root = new URL('../../../', import.meta.url)

/** Returns the sections of a page, each with the pages that its list or table links to. */
export function readIndex(page) {
  const markdown = readFileSync(new URL(page, root), 'utf8')
  const [, ...sections] = markdown.split(/^## /m)
  return sections.map((section) => {
    const rows = section.split('\n').filter((line) => /^([-|]|\d+\.) /.test(line))
    const links = rows.flatMap((row) => [...row.matchAll(/\[([^\]]+)\]\(([^)#]+\.md)\)/g)])
    const items = links.map(([, text, path]) => ({
      text: toTitle(text),
      link: toAddress(posix.join(posix.dirname(page), path)),
    }))
    return { text: section.slice(0, section.indexOf('\n')), items }
  })
}

/** Returns the file of the site for a page. The first page of the site is not the README. */
export function toFile(page) {
  if (page === 'README.md') return 'readme.md'
  return page.replace(/^scripts\/site\//, '').replace(/README\.md$/, 'index.md')
}

/** Returns the address of a page or program on the site, which is the address of a folder for an index. */
export function toAddress(page) {
  return `/${toFile(page)}`.replace(/index\.md$/, '').replace(/\.(md|ts)$/, '.html')
}

function toTitle(text) {
  return text[0].toUpperCase() + text.slice(1).replaceAll('`', '')
}

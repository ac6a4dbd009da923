// Links of the markdown files. They name files relative to the page, as on GitHub.
import { existsSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { toAddress } from './navigation.mjs'
import { root } from './programs.mjs'

/**
 * Makes a link to a page or a program an address of the site, and a link to another file or folder one of the repository.
 * While no repository is known, the name of such a file stays as text. A link that leads nowhere fails the build.
 */
export function rewriteLinks(md, repository) {
  md.core.ruler.push('rewrite-links', ({ tokens, env }) => {
    const page = env.realPath ?? env.path
    const inline = tokens.flatMap(({ children }) => children ?? [])
    for (const [position, token] of inline.entries()) {
      const href = token.attrGet('href') ?? '#'
      if (token.type !== 'link_open' || /^(#|\w+:)/.test(href)) continue
      const [path, anchor] = href.split('#')
      // The first page of the site has parts of the README, with its links.
      const folder = page === join(root, 'scripts/site/[home].md') ? root : dirname(page)
      const file = join(folder, decodeURI(path))
      if (!existsSync(file)) throw new Error(`${relative(root, page)}: ${href} leads nowhere`)
      const address = toPage(file) ?? toSource(file, repository)
      if (address !== undefined) token.attrSet('href', anchor ? `${address}#${anchor}` : address)
      else
        toText(
          token,
          inline.slice(position).find(({ type }) => type === 'link_close'),
        )
    }
  })
}

/** Returns the address of a page or a program of the site, or `undefined` for another file. */
function toPage(file) {
  if (file === join(root, 'examples')) return '/examples/'
  const readme = join(file, 'README.md')
  const page = relative(root, existsSync(readme) ? readme : file).replaceAll('\\', '/')
  return /^([A-Z]+\.md|docs\/.*\.md|examples\/.*\.(md|ts))$/.test(page)
    ? toAddress(page)
    : undefined
}

function toSource(file, repository) {
  const kind = statSync(file).isDirectory() ? 'tree' : 'blob'
  const path = relative(root, file).replaceAll('\\', '/')
  return repository && `${repository}/${kind}/main/${path}`
}

function toText(open, close) {
  for (const token of [open, close]) Object.assign(token, { type: 'text_of_link', tag: 'span' })
  open.attrs = null
}

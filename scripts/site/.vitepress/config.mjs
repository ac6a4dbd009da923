// The documentation site, made of the markdown files as they are: `npm run docs`.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { rewriteLinks } from './links.mjs'
import { writeMarkdownFiles } from './markdown-files.mjs'
import { readIndex, toAddress, toFile } from './navigation.mjs'
import { listPrograms } from './programs.mjs'
import { renderForSearch, searchOptions } from './search.mjs'
import { improveTables } from './tables.mjs'

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
/** Of package.json, or of the run of GitHub Actions. */
const repository =
  manifest.repository?.url.replace(/^git\+|\.git$/g, '') ??
  (GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`)
const index = readIndex('docs/README.md')
const decisions = readIndex('docs/decisions/README.md')
const programs = listPrograms().map((path) => ({
  text: path.slice('examples/'.length),
  link: toAddress(path),
}))

export default defineConfig({
  lang: 'en',
  title: 'Remex',
  description: manifest.description,
  // No icon: without this, browsers ask for /favicon.ico.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '../..',
  // Pages are the markdown files at the top and below these folders, and the pages that only the site has.
  srcExclude: ['!(docs|examples|scripts)/**/*', 'scripts/!(site)/**/*'],
  outDir: '../../build-site',
  cacheDir: 'build-cache',
  rewrites: toFile,
  // The index of the search is the largest file, and loaded by the search alone.
  vite: { build: { chunkSizeWarningLimit: 1000 } },
  markdown: {
    // `{ … }` is text, as on GitHub.
    attrs: { disable: true },
    anchor: { slugify: toAnchor },
    shikiSetup: highlightAll,
    codeTransformers: [{ line: keepIndent }],
    config(md) {
      // No page has HTML or Vue of its own: `Service<T>` and `{{ name }}` are text.
      md.set({ html: false })
      for (const kind of ['text', 'code_inline']) {
        const render = md.renderer.rules[kind]
        md.renderer.rules[kind] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
      }
      tidy(md)
      rewriteLinks(md, repository)
      improveTables(md, toAnchor)
    },
  },
  buildEnd: (site) => writeMarkdownFiles(site, manifest.description),
  themeConfig: {
    nav: [
      ...index.map(({ text, items: [first] }) => ({ text, link: first.link })),
      { text: 'Examples', link: '/examples/' },
    ],
    sidebar: {
      '/': index,
      '/docs/decisions/': [{ text: 'All pages', link: '/docs/' }, ...decisions],
      '/examples/': [
        { text: 'All pages', link: '/docs/' },
        { text: 'Examples', items: programs },
      ],
    },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: { _render: renderForSearch, miniSearch: searchOptions },
    },
    ...(repository && {
      socialLinks: [{ icon: 'github', link: repository }],
      editLink: { pattern: `${repository}/edit/main/:path` },
    }),
  },
})

/** Returns what GitHub makes of a heading in the address of a page. */
function toAnchor(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

/** Removes comments, which mark places for tests and would be shown as text, and names the language of plain text. */
function tidy(md) {
  md.core.ruler.push('tidy', ({ tokens }) => {
    for (const [position, token] of tokens.entries()) {
      if (token.type === 'fence') token.info ||= 'text'
      if (token.type !== 'inline' || !/^<!--[\s\S]*-->$/.test(token.content)) continue
      token.children.length = 0
      for (const neighbour of [position - 1, position + 1]) tokens[neighbour].hidden = true
    }
  })
}

/** Without it, a line that took long on a busy machine loses its colours. */
function highlightAll(shiki) {
  const { codeToHtml } = shiki
  shiki.codeToHtml = (code, options) => codeToHtml(code, { ...options, tokenizeTimeLimit: 0 })
}

/** Tells the style sheet how far a line of code is indented: what is wrapped continues there. */
function keepIndent(line) {
  const [first] = line.children
  const text = first?.children[0]?.value ?? ''
  const indent = text.length - text.trimStart().length
  if (indent > 0) line.properties.style = `--indent: ${indent}ch`
}

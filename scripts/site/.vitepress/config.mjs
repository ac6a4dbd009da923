// The documentation site, made of the markdown files as they are: `npm run docs`.
import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'
import { rewriteLinks } from './links.mjs'
import { readIndex } from './navigation.mjs'

const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env
/** Of package.json, or of the run of GitHub Actions. */
const repository =
  manifest.repository?.url.replace(/^git\+|\.git$/g, '') ??
  (GITHUB_REPOSITORY && `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`)
const index = readIndex('docs/README.md')
const decisions = readIndex('docs/decisions/README.md')

export default defineConfig({
  lang: 'en',
  title: 'Remex',
  description: manifest.description,
  // No icon: without this, browsers ask for /favicon.ico.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '../..',
  // Pages are the markdown files at the top and below these folders.
  srcExclude: ['!(docs|examples)/**/*'],
  outDir: '../../build-site',
  cacheDir: 'build-cache',
  rewrites: (page) => page.replace(/README\.md$/, 'index.md'),
  // The index of the search is the largest file, and loaded by the search alone.
  vite: { build: { chunkSizeWarningLimit: 1000 } },
  markdown: {
    // `{ … }` is text, as on GitHub.
    attrs: { disable: true },
    anchor: { slugify: toAnchor },
    config(md) {
      // No page has HTML or Vue of its own: `Service<T>` and `{{ name }}` are text.
      md.set({ html: false })
      for (const kind of ['text', 'code_inline']) {
        const render = md.renderer.rules[kind]
        md.renderer.rules[kind] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
      }
      rewriteLinks(md, repository)
    },
  },
  themeConfig: {
    nav: index.map(({ text, items: [first] }) => ({ text, link: first.link })),
    sidebar: {
      '/': index,
      '/docs/decisions/': [{ text: 'All pages', link: '/docs/' }, ...decisions],
    },
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // Reasons and the list of tests would hide the pages that answer questions.
        _render: (source, env, md) =>
          /decisions\/|security-tests/.test(env.relativePath) ? '' : md.render(source, env),
        miniSearch: {
          options: { tokenize },
          searchOptions: { combineWith: 'AND', fuzzy: toEdits, boostDocument: toWeight },
        },
      },
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

/** Splits text into the words of the search: `select` finds `$select`. Runs in browsers, too. */
function tokenize(text) {
  const words = text.split(/[\s\p{P}]+/u)
  return [...words, ...words.filter((word) => /^\p{S}./u.test(word)).map((word) => word.slice(1))]
}

/** Returns which part of a word of the search may differ: `match` is not to find `batch`. Runs in browsers. */
function toEdits(word) {
  return word.length > 6 ? 0.2 : 0
}

/** Returns what a page counts in the search: reasons and changes less than what holds. Runs in browsers. */
function toWeight(address) {
  return /CHANGELOG/.test(address) ? 0.3 : 1
}

// A page for each program of `examples`, which the snippets of the documentation link to, and a list of them.
import { readFileSync } from 'node:fs'
import { listPrograms, root } from '../.vitepress/programs.mjs'

export default {
  paths: () => [
    { params: { program: 'index' }, content: toList() },
    ...listPrograms().map((path) => ({
      params: { program: path.slice('examples/'.length).replace(/\.ts$/, '') },
      content: `# \`${path}\`\n\n\`\`\`\`ts\n${read(path)}\`\`\`\`\n`,
    })),
  ],
}

/** Returns the list of the programs of one file, each with the first sentence of its first comment. */
function toList() {
  const programs = listPrograms().filter((path) => /^examples\/[^/]+$/.test(path))
  const rows = programs.map((path) => {
    const link = `- [${path.slice('examples/'.length)}](../../../${path})`
    const [comment] = read(path).match(/^(\/\/ .*\n)+/) ?? []
    if (comment === undefined) return link
    const [about] = comment.replaceAll(/\n?\/\/ /g, ' ').split(/\. |: `|, after /)
    return `${link}: ${about.trim().replace(/\.$/, '')}`
  })
  const blog = '[the blog](../../../examples/blog/README.md)'
  return `# Examples\n\nComplete programs, also in \`node_modules/remex/examples\`. An application in several files is ${blog}.\n\n${rows.join('\n')}\n`
}

function read(path) {
  return readFileSync(`${root}${path}`, 'utf8')
}

// A page for each program of `examples`: the snippets of the documentation link to them.
import { readFileSync } from 'node:fs'
import { listPrograms, root } from '../.vitepress/programs.mjs'

export default {
  paths: () =>
    listPrograms().map((path) => ({
      params: { program: path.slice('examples/'.length).replace(/\.ts$/, '') },
      content: `# \`${path}\`\n\n\`\`\`\`ts\n${readFileSync(`${root}${path}`, 'utf8')}\`\`\`\`\n`,
    })),
}

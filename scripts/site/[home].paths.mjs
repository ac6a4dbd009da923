// The first page takes its code, its reasons and its numbers from the README.
import { readFileSync } from 'node:fs'
import { root } from './.vitepress/programs.mjs'

const readme = readFileSync(`${root}README.md`, 'utf8')

export default {
  paths: () => {
    const parts = [
      /^```ts\n[\s\S]*?^```\n/m,
      /^## Why\n[\s\S]*?(?=^## )/m,
      /^## Benchmarks\n[\s\S]*?(?=^## )/m,
    ]
    return [{ params: { home: 'index' }, content: parts.map(take).join('\n') }]
  },
}

function take(part) {
  const [text] = readme.match(part) ?? []
  if (text === undefined) throw new Error(`README.md has no part like ${part}`)
  return text
}

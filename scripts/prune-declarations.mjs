// Removes the declarations in `dist` that no entry of package.json leads to: the compiler writes one for each file of
// `src`, and the compilers of users would not read half of them.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** A relative path in a declaration: `from './a.ts'`, `import('./a.ts')`, `declare module './a.ts'`. */
const RELATIVE = /\b(?:from |import ?\(?|module )['"](\.[^'"]*)\.ts['"]/g

const { exports: entries } = JSON.parse(readFileSync('package.json', 'utf8'))
const reached = new Set(
  Object.values(entries)
    .flatMap(({ types = [] }) => types)
    .map(normalize),
)
// The loop visits what it adds, too. It throws for a path that leads nowhere.
for (const file of reached) {
  for (const [, path] of readFileSync(file, 'utf8').matchAll(RELATIVE)) {
    reached.add(join(dirname(file), `${path}.d.ts`))
  }
}

const files = readdirSync('dist', { recursive: true }).map((file) => join('dist', file))
for (const file of files) {
  if (file.endsWith('.d.ts') && !reached.has(file)) rmSync(file)
}

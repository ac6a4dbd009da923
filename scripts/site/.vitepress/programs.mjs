// The complete programs that pages take their snippets from.
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The folder of the project, with a slash at its end. */
export const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Returns the paths of the programs from the folder of the project, such as `examples/rest.ts`. */
export function listPrograms() {
  const names = readdirSync(`${root}examples`, { recursive: true }).map(String)
  const programs = names.filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
  return programs.map((name) => `examples/${name.replaceAll('\\', '/')}`).sort()
}

// Removes the named output folders, so that no stale file outlives its source. With `--stale`, only what the
// compiler has written there for a source that is gone: it leaves alone what it does not have to write again.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const [first, ...others] = process.argv.slice(2)
if (first === '--stale') others.forEach(removeStale)
else for (const folder of [first, ...others]) rmSync(folder, { recursive: true, force: true })

function removeStale(folder) {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder, { recursive: true })) {
    const source = /^((?:src|test|bench|examples)[\\/].*)\.js(?:\.map)?$/.exec(name)?.[1]
    if (source !== undefined && !existsSync(`${source}.ts`)) rmSync(join(folder, name))
  }
}

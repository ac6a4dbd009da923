// tap compiles its list of plugins into its own package. A fresh install carries the default list,
// whose TypeScript plugin cannot load beside TypeScript 7, and a run that notices the difference
// rebuilds too late to use the result. So tap is rebuilt here, before the run, when it is due.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const require = createRequire(import.meta.url)
const packageFile = require.resolve('tap/package.json')
const cli = join(dirname(packageFile), require(packageFile).bin.tap)
const builtClass = createRequire(packageFile).resolve('@tapjs/test/built')

const sortLines = (text) => text.trim().split('\n').sort().join('\n')
const wanted = execFileSync(process.execPath, [cli, 'plugin', 'list'], { encoding: 'utf8' })
const built = /\bsignature = `([^`]*)`/.exec(readFileSync(builtClass, 'utf8'))?.[1] ?? ''

if (sortLines(wanted) !== sortLines(built)) {
  execFileSync(process.execPath, [cli, 'build'], { stdio: 'inherit' })
}

// Runs all compiled tests, or only the named files (`npm test -- test/core/app.test.ts`). Prints a line for
// each file, the skipped tests, the whole output of each file that fails, and the counts of all files. The
// counts also go to `.tap/results.json`, which CI reads.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { findTestFiles, runTestFiles } from './test-files.mjs'

const RESULTS = '.tap/results.json'
const named = process.argv.slice(2).map(toCompiledFile)
const known = findTestFiles()
const unknown = named.filter((file) => !known.includes(file))
if (unknown.length > 0) {
  console.error(`No test file ${unknown.join(', ')}: name files such as test/core/app.test.ts`)
  process.exit(1)
}
const files = named.length > 0 ? named : known
const sum = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
let index = 0

/** Returns the compiled file of a test, for its name or that of its source. */
function toCompiledFile(name) {
  return normalize(name).replace(/^test([\\/].*)\.ts$/, (_source, path) =>
    join('build', `test${path}.js`),
  )
}

/** Returns an output as lines that are none of the summary of the run. */
const indent = (output) => output.replace(/^/gm, '    ')

// A run that breaks off leaves no counts.
rmSync(RESULTS, { force: true })
const { failures } = await runTestFiles({
  files,
  onFile({ file, output, counts, fault, seconds }) {
    index += 1
    for (const name of Object.keys(sum)) sum[name] += counts[name]
    const what = `${index} - ${file} # ${counts.total} assertions, ${seconds.toFixed(1)} s`
    console.log(fault === undefined ? `ok ${what}` : `not ok ${what}: ${fault}`)
    const shown =
      fault === undefined ? (output.match(/^ *ok .* # (SKIP|TODO).*/gim) ?? []) : [output]
    for (const text of shown) console.log(indent(text))
    // A file that ends too early fails even if none of its assertions has.
    if (fault !== undefined && counts.fail === 0) {
      sum.fail += 1
      sum.total += 1
    }
  },
})

console.log(`1..${index}`)
const counted = Object.entries(sum).filter(([, count]) => count > 0)
console.log(`# { ${counted.map(([name, count]) => `${name}: ${count}`).join(', ')} }`)
mkdirSync('.tap', { recursive: true })
writeFileSync(RESULTS, JSON.stringify(sum))
process.exitCode = failures.length > 0 || index === 0 ? 1 : 0

// Runs all compiled tests, or the files that are named, by `scripts/test-files.mjs`, as CI does. Prints a
// line for each file, the tests that are skipped, all that a file has written that fails, and in the end the
// counts of all files, as tap does.
import { findTestFiles, runTestFiles } from './test-files.mjs'

const named = process.argv.slice(2)
const files = named.length > 0 ? named : findTestFiles()
const sum = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
let index = 0

/** Returns an output as lines that are none of the summary of the run. */
const indent = (output) => output.replace(/^/gm, '    ')

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
process.exitCode = failures.length > 0 || index === 0 ? 1 : 0

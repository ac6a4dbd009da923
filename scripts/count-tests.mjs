// Prints `N passed, N failed, N skipped` from the counts that the runs of tests have written. Arguments: their
// folder, then the name of every step that failed. Each of these is a failure; those of tests only where no test
// has failed (a compile error, a crash, no results at all).
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder, ...failedSteps] = process.argv.slice(2)
const files = existsSync(folder) ? readdirSync(folder) : []
const runs = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
const sum = (name) => runs.reduce((total, run) => total + run[name], 0)

const otherSteps = failedSteps.filter((step) => !step.startsWith('test'))
const isIncomplete = otherSteps.length < failedSteps.length || runs.length < 2
const failed = sum('fail') + otherSteps.length + (sum('fail') === 0 && isIncomplete ? 1 : 0)

console.log(`${sum('pass')} passed, ${failed} failed, ${sum('skip') + sum('todo')} skipped`)
process.exitCode = failed > 0 ? 1 : 0

// Prints `N passed, N failed, N skipped` from tap's results file. Arguments: the file, then the
// name of every step that failed: each counts as one failure, but the step `test` only when tap
// itself has counted none (a compile error, a crash, no results at all).
import { existsSync, readFileSync } from 'node:fs'

const [file = '.tap/results.tap', ...failedSteps] = process.argv.slice(2)
const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
// What a test prints itself is indented, so only tap's own summary starts a line.
const summary = [...text.matchAll(/^# \{([^}]*)\}$/gm)].at(-1)?.[1] ?? ''
const count = (name) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0)

const otherSteps = failedSteps.filter((step) => step !== 'test').length
const testStep = count('fail') === 0 && (failedSteps.includes('test') || count('total') === 0)
const failed = count('fail') + otherSteps + (testStep ? 1 : 0)

console.log(`${count('pass')} passed, ${failed} failed, ${count('skip') + count('todo')} skipped`)
process.exitCode = failed > 0 ? 1 : 0

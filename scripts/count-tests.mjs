// Prints `N passed, N failed, N skipped` from the counts that `npm test` has written. Arguments: their file,
// then the name of every step that failed. Each failed step counts as one failure, but the step `test` only
// if no test failed (a compile error, a crash, no results at all).
import { existsSync, readFileSync } from 'node:fs'

const [file, ...failedSteps] = process.argv.slice(2)
const none = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
const counts = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : none

const otherSteps = failedSteps.filter((step) => step !== 'test').length
const testStep = counts.fail === 0 && (failedSteps.includes('test') || counts.total === 0)
const failed = counts.fail + otherSteps + (testStep ? 1 : 0)

console.log(`${counts.pass} passed, ${failed} failed, ${counts.skip + counts.todo} skipped`)
process.exitCode = failed > 0 ? 1 : 0

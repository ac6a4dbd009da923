// Runs a command that starts a server, such as `npm start`, and fails unless it answers over HTTP.
import { checkProgram } from './check-program.mjs'

const [command, ...words] = process.argv.slice(2)
if (!(await checkProgram(command, words, true))) process.exitCode = 1

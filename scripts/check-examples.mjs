// Starts every compiled example of `build/examples`, or of the folder that is named first, or those
// named after it: each file, and the `server.js` of each folder.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { checkProgram } from './check-program.mjs'

const [FOLDER = 'build/examples', ...names] = process.argv.slice(2)

/** Returns the file to start of what is in the folder, if it is an example. */
function toExample(name) {
  if (name.endsWith('.js')) return name
  const server = join(name, 'server.js')
  return existsSync(join(FOLDER, server)) ? server : []
}

const files = names.length > 0 ? names : readdirSync(FOLDER).flatMap(toExample)
if (files.length === 0) throw new Error(`No example in ${FOLDER}`)
for (const file of files) {
  if (!(await checkProgram(process.execPath, [join(FOLDER, file)]))) process.exitCode = 1
}

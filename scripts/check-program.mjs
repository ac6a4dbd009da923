// Starts programs, waits for the first answer over HTTP, and interrupts them as Ctrl+C does:
//
//   node scripts/check-program.mjs npm start     a command that has to serve
//   node scripts/check-program.mjs               each example of `build/examples`; one that ends by itself with
//                                                status 0 need not answer
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findPort, Program } from './outside.mjs'

/** Resolves when a command has done what it has to; throws with what it has printed otherwise. */
export async function checkProgram(folder, command, mustServe = false) {
  const data = mkdtempSync(join(tmpdir(), 'remex-program-'))
  const port = await findPort()
  const variables = { PORT: String(port), HOST: '127.0.0.1', DATA_DIRECTORY: data }
  const program = new Program(folder, variables, `exec ${command}`)
  const answer = await program.fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
  const end = await program.end('SIGINT')
  rmSync(data, { recursive: true, force: true })
  const isRight = answer === undefined ? end === 0 && !mustServe : answer.status < 500
  const hasEnded = end === 0 || end === 'SIGINT'
  const outcome = `${command} (${answer ? `GET / ${answer.status}` : 'no HTTP'}, ended with ${end})`
  if (!isRight || !hasEnded) throw new Error(`${outcome}\n${program.output}`)
  console.log(`ok - ${outcome}`)
}

/** Starts the named examples of a project, or all: each file, and the `server.ts` of each folder. */
export async function checkExamples(folder, built, names = readdirSync('examples')) {
  for (const name of names) {
    const file = name.includes('.') ? name : `${name}/server.ts`
    if (!existsSync(join('examples', file))) continue
    await checkProgram(folder, `node ${join(built, file.replace(/ts$/, 'js'))}`)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const command = process.argv.slice(2).join(' ')
  await (command === '' ? checkExamples('.', 'build/examples') : checkProgram('.', command, true))
}

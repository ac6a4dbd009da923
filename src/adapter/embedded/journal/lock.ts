import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Locks a folder for this process, creating it if needed, and returns a function that unlocks it. Each
 * process creates its own file and then looks for others: if two start together, at most one goes on. Files
 * of processes that have ended are ignored.
 * @throws {Error} a running server has locked it
 */
export function lockDirectory(directory: string): () => void {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const own = `lock-${identify(process.pid)}`
  const path = join(directory, own)
  if (existsSync(path)) throw inUse(directory, own)
  writeFileSync(path, '', { mode: 0o600 })
  for (const name of readdirSync(directory)) {
    const pid = /^lock-(\d+)/.exec(name)?.[1]
    if (pid === undefined || name === own) continue
    const isHeld = name === `lock-${identify(Number(pid))}`
    rmSync(isHeld ? path : join(directory, name), { force: true })
    if (isHeld) throw inUse(directory, name)
  }
  return () => rmSync(path, { force: true })
}

function inUse(directory: string, lock: string): Error {
  const error = new Error(
    `startEmbeddedMongo(): a server already uses the directory '${directory}': give its 'url' to ` +
      `this process, or remove the file '${lock}' there if no server runs`,
  )
  return Object.assign(error, { code: 'ERR_DIRECTORY_IN_USE' })
}

/**
 * Returns a string that identifies a process, `undefined` if it does not run. Process ids are reused,
 * especially in containers, so on Linux the string includes the start time.
 */
function identify(pid: number): string | undefined {
  try {
    if (process.platform !== 'linux') return process.kill(pid, 0) ? String(pid) : undefined
    // The 22nd field; the second one is a name, which may hold spaces.
    const start = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19]
    return `${pid}-${start}`
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    // It runs, but belongs to another user.
    if (code === 'EPERM') return String(pid)
    throw error
  }
}

// Keeps every core busy beside tests, to show whether one depends on how fast the machine is.
import { spawn } from 'node:child_process'

/** Ends by itself when the process that started it is gone, however that ended. */
const LOOP = `
const parent = process.ppid
const spin = () => {
  for (const end = Date.now() + 100; Date.now() < end; );
  if (process.ppid === parent) setImmediate(spin)
}
spin()`

/** Starts busy loops, each in a process of its own. Returns the function that ends them. */
export function startBusyLoops(count) {
  const loops = Array.from({ length: count }, () =>
    spawn(process.execPath, ['-e', LOOP], { stdio: 'ignore' }),
  )
  return () => {
    for (const loop of loops) loop.kill('SIGTERM')
  }
}

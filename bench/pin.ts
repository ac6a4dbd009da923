import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** The processors of the load and of the servers: apart, so that each wake-up costs the same. */
const LOAD_CPU = '1'
const SERVER_CPU = '0'

/**
 * Ties this process to one processor and returns how to tie servers to another. Where the scheduler
 * moves both about, the kernel's part of a request varies by half. Without `taskset`, or on one
 * processor, nothing is tied.
 */
export function pinLoad(): (serverPid: number | undefined) => void {
  const canPin = availableParallelism() > 1 && pin(LOAD_CPU, process.pid)
  return (pid) => {
    if (canPin && pid !== undefined) pin(SERVER_CPU, pid)
  }
}

function pin(cpu: string, pid: number): boolean {
  return spawnSync('taskset', ['-acp', cpu, String(pid)]).status === 0
}

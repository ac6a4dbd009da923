import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { TestScope } from './http.ts'
import { until } from './until.ts'

/** Has a program print the port of its server: an example has no other way to tell it. */
const TELL_PORT = `
import { Server } from 'node:http'
const { listen } = Server.prototype
Server.prototype.listen = function (...args) {
  this.once('listening', () => console.log('port', this.address().port))
  return listen.apply(this, args)
}`

/** An example that runs. */
export interface ExampleProcess {
  readonly child: ChildProcess
  readonly port: number
  /** What it has printed until it was ready. */
  readonly output: string
}

/**
 * Starts an example on a free port, with no database but that of the variables; it ends with the test.
 * @param lastWords what it prints when it is ready
 */
export async function startExample(
  t: Pick<TestScope, 'teardown'>,
  name: string,
  lastWords: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<ExampleProcess> {
  const { MONGODB_URL: _own, ...env } = process.env
  const program = fileURLToPath(new URL(`../../examples/${name}.js`, import.meta.url))
  const loader = ['--import', `data:text/javascript,${encodeURIComponent(TELL_PORT)}`]
  const child = spawn(process.execPath, [...loader, program], {
    env: { ...env, PORT: '0', ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await until(() => output.includes(lastWords) || child.exitCode !== null)
  if (child.exitCode !== null) throw new Error(`The example ${name} has ended: ${child.exitCode}`)
  return { child, output, port: Number(/^port (\d+)$/m.exec(output)?.[1]) }
}

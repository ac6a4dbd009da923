// Runs compiled test files one after the other in this process: `node scripts/test-group.mjs <label> <file> …`.
// What a file calls on the `t` that it imports reaches a test of its own, so that its hooks, teardowns and time
// limits end with it. A line of JSON behind the result of each file has its counts and what it took.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import root from 'tap'

const [label, ...files] = process.argv.splice(2)
const { timeout } = root.options
const own = Object.getPrototypeOf(root)
/** The test of the file that runs. */
let current

Object.setPrototypeOf(
  root,
  new Proxy(own, {
    get(_own, name) {
      // Events are those of the root: a module that several files import listens once.
      const t = name === 'on' ? own : (current ?? own)
      return t !== own && typeof t[name] === 'function' ? t[name].bind(t) : t[name]
    },
  }),
)

for (const file of files) {
  const started = performance.now()
  const cpu = process.cpuUsage()
  process.argv[1] = file
  // The limit of the root is that of each file: it ends the process.
  root.setTimeout(timeout)
  await root.test(file, { timeout: 0 }, async (t) => {
    current = t
    // As long as in a process of its own.
    t.testdirName = resolve('.tap/fixtures', `${file} ${label}`.trim().replace(/[^\w.-]+/g, '-'))
    await import(pathToFileURL(file))
  })
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (performance.now() - started) / 1000
  const { counts } = current
  current = undefined
  root.comment(JSON.stringify({ ...counts, seconds, cpu: (user + system) / 1e6 }))
}

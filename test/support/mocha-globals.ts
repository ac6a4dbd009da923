/** The part of a tap test that a suite needs. */
interface SuiteScope {
  test(title: string, options: object, run: (t: SuiteScope) => Promise<void>): PromiseLike<unknown>
  pass(message: string): unknown
}

type Step = () => unknown

interface Suite {
  readonly title: string
  readonly parent: Suite | null
  readonly before: Step[]
  readonly after: Step[]
  readonly beforeEach: Step[]
  readonly afterEach: Step[]
  readonly members: (Suite | Case)[]
}

interface Case {
  readonly title: string
  /** `null` for `it.skip`. */
  readonly run: Step | null
}

/**
 * Runs a suite that is written for mocha's globals `describe it before after beforeEach afterEach`
 * inside a tap test. The globals are there while `define` runs, and gone afterwards.
 */
export async function runMochaSuite(t: SuiteScope, define: () => void): Promise<void> {
  const root = createSuite('', null)
  let current = root
  const globals = {
    describe(title: string, body: () => void) {
      const suite = createSuite(title, current)
      current.members.push(suite)
      current = suite
      body()
      current = suite.parent ?? root
    },
    it: Object.assign((title: string, run: Step) => current.members.push({ title, run }), {
      skip: (title: string) => current.members.push({ title, run: null }),
    }),
    before: (step: Step) => current.before.push(step),
    after: (step: Step) => current.after.push(step),
    beforeEach: (step: Step) => current.beforeEach.push(step),
    afterEach: (step: Step) => current.afterEach.push(step),
  }
  Object.assign(globalThis, globals)
  try {
    define()
  } finally {
    for (const name of Object.keys(globals)) Reflect.deleteProperty(globalThis, name)
  }
  await runSuite(t, root)
}

async function runSuite(t: SuiteScope, suite: Suite): Promise<void> {
  for (const step of suite.before) await step()
  for (const member of suite.members) {
    if ('members' in member) {
      await t.test(member.title, {}, (inner) => runSuite(inner, member))
    } else {
      await t.test(member.title, { skip: member.run === null }, (inner) =>
        runCase(inner, member, suite),
      )
    }
  }
  for (const step of suite.after) await step()
}

async function runCase(t: SuiteScope, { run }: Case, suite: Suite): Promise<void> {
  const suites = toPath(suite)
  for (const { beforeEach } of suites) for (const step of beforeEach) await step()
  try {
    await run?.()
    t.pass('the case of the suite holds')
  } finally {
    for (const { afterEach } of suites.reverse()) for (const step of afterEach) await step()
  }
}

function toPath(suite: Suite): Suite[] {
  return suite.parent === null ? [suite] : [...toPath(suite.parent), suite]
}

function createSuite(title: string, parent: Suite | null): Suite {
  return { title, parent, before: [], after: [], beforeEach: [], afterEach: [], members: [] }
}

import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'

/** The functions of the package that ran in one call. */
export interface EnteredFunctions {
  /** Each function with its file: `transport/service-handler.js start: 1`. */
  readonly functions: readonly string[]
  /** How many calls there were of all functions together. */
  readonly calls: number
  /** The files below `src` that they are in. */
  readonly files: readonly string[]
}

const SOURCES = new URL('../../src/', import.meta.url).href

/** How often a call is looked at: a timer that runs beside it would add its own functions. */
const LOOKS = 5

/**
 * Resolves to the functions of the package that a piece of work enters. Everything that is made once has to be
 * there before: run the work some times first.
 */
export async function findEntered(work: () => Promise<unknown>): Promise<EnteredFunctions> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const looks: EnteredFunctions[] = []
  for (let look = 0; look < LOOKS; look += 1) {
    // Takes the counts so far away.
    await session.post('Profiler.takePreciseCoverage')
    await work()
    const { result } = await session.post('Profiler.takePreciseCoverage')
    looks.push(toEntered(result))
  }
  session.disconnect()
  return looks.reduce((least, one) => (one.calls < least.calls ? one : least))
}

function toEntered(scripts: readonly Profiler.ScriptCoverage[]): EnteredFunctions {
  const entered = scripts
    .filter(({ url }) => url.startsWith(SOURCES))
    .flatMap(({ url, functions }) =>
      functions
        .filter((one) => !isModule(one) && countOf(one) > 0)
        .map((one) => ({
          file: url.slice(SOURCES.length),
          name: one.functionName,
          count: countOf(one),
        })),
    )
  return {
    functions: entered.map(({ file, name, count }) => `${file} ${name || '(anonymous)'}: ${count}`),
    calls: entered.reduce((sum, { count }) => sum + count, 0),
    files: [...new Set(entered.map(({ file }) => file))],
  }
}

function countOf({ ranges }: Profiler.FunctionCoverage): number {
  return ranges[0]?.count ?? 0
}

/** Whether a function stands for the whole file. */
function isModule({ functionName, ranges }: Profiler.FunctionCoverage): boolean {
  return functionName === '' && ranges[0]?.startOffset === 0
}

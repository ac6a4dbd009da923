/** How much larger the large input is. */
const SCALE = 16
const TRIES = 20
/** How often the small work is measured in each try: a collection takes longer than it. */
const SMALL_TRIES = 5

/** Between the growth of work that follows its input, 16, and that of work by its square, 256. */
export const LINEAR_GROWTH = 4 * SCALE

/**
 * Resolves to how many times as much work costs on an input that is 16 times as large. Both are
 * measured in this run and in processor time, so that neither the speed of the machine counts nor
 * what else it does; repeated until the growth is that of linear work, or for 20 times.
 * @param prepare makes an input of a size and returns the work on it
 */
export async function growthOf(
  prepare: (size: number) => () => unknown,
  size: number,
): Promise<number> {
  const works = { small: prepare(size), large: prepare(size * SCALE) }
  const least = { small: Number.POSITIVE_INFINITY, large: Number.POSITIVE_INFINITY }
  const growth = (): number => least.large / least.small
  // The first time it is compiled.
  await works.small()
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    for (let index = 0; index < SMALL_TRIES; index += 1) {
      least.small = Math.min(least.small, await costOf(works.small))
    }
    least.large = Math.min(least.large, await costOf(works.large))
    if (growth() < LINEAR_GROWTH) break
  }
  return growth()
}

/** In microseconds, one at least. */
async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return Math.max(1, user + system)
}

import type { TestScope } from './http.ts'

/** A clock that stands still until the test moves it on. */
interface TestClock {
  advance(ms: number): void
}

/**
 * Puts a clock of its own in the place of `performance.now()`, which is what time limits and windows
 * are measured with, until the end of the test.
 */
export function stopClock(t: Pick<TestScope, 'teardown'>): TestClock {
  const original = performance.now
  // Whole, so that sums of times are exact.
  let now = Math.ceil(original.call(performance))
  t.teardown(() => {
    performance.now = original
  })
  performance.now = () => now
  return {
    advance(ms) {
      now += ms
    },
  }
}

/**
 * Puts the clock that dates come from forward, as far as the test says and until its end. Databases and other
 * processes do not notice it.
 */
export function leadClock(t: Pick<TestScope, 'teardown'>): TestClock {
  const original = Date.now
  let aheadMs = 0
  t.teardown(() => {
    Date.now = original
  })
  Date.now = () => original() + aheadMs
  return {
    advance(ms) {
      aheadMs += ms
    },
  }
}

/** Timers of one length, which wait for the test instead of the time. */
export interface HeldTimers {
  /** How many have been set and neither cleared nor called. */
  readonly size: number
  /** How many have been set so far. */
  readonly count: number
  /** Has their time come. */
  fire(): void
}

/** Holds back all timers of exactly this length until the end of the test; others run as usual. */
export function holdTimers(t: Pick<TestScope, 'teardown'>, lengthMs: number): HeldTimers {
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const held = new Map<unknown, () => unknown>()
  let count = 0
  t.teardown(() => Object.assign(globalThis, { setTimeout: set, clearTimeout: clear }))
  const setTimeout = (
    callback: (...values: unknown[]) => unknown,
    ms = 0,
    ...values: unknown[]
  ) => {
    if (ms !== lengthMs) return set(callback, ms, ...values)
    // A timer that has ended: it can be cleared and asked like any other.
    const timer = set(() => undefined)
    clear(timer)
    count += 1
    held.set(timer, () => callback(...values))
    return timer
  }
  const clearTimeout = (timer: NodeJS.Timeout | undefined): void => {
    held.delete(timer)
    clear(timer)
  }
  Object.assign(globalThis, { setTimeout, clearTimeout })
  return {
    get size() {
      return held.size
    },
    get count() {
      return count
    },
    fire() {
      for (const [timer, callback] of [...held]) if (held.delete(timer)) callback()
    },
  }
}

/** Holds back all intervals until the end of the test; each firing calls all of them once. */
export function holdIntervals(t: Pick<TestScope, 'teardown'>): Pick<HeldTimers, 'fire'> {
  const { setInterval: set, clearInterval: clear } = globalThis
  const held = new Map<unknown, () => unknown>()
  t.teardown(() => Object.assign(globalThis, { setInterval: set, clearInterval: clear }))
  const setInterval = (callback: () => unknown, ms?: number): NodeJS.Timeout => {
    const timer = set(() => undefined, ms)
    clear(timer)
    held.set(timer, callback)
    return timer
  }
  const clearInterval = (timer: NodeJS.Timeout): void => {
    held.delete(timer)
    clear(timer)
  }
  Object.assign(globalThis, { setInterval, clearInterval })
  return {
    fire() {
      for (const callback of [...held.values()]) callback()
    },
  }
}

/** A time that passes when the test says so: the clock, and all intervals with it. */
interface TestTime {
  pass(ms: number): void
}

/** Stops the clock and all intervals that are set from now on, until the end of the test. */
export function stopTime(t: Pick<TestScope, 'teardown'>): TestTime {
  const clock = stopClock(t)
  const intervals = holdIntervals(t)
  return {
    pass(ms) {
      // In steps shorter than any interval: a timer that is late is another matter.
      for (let passed = 0; passed < ms; passed += 1) {
        clock.advance(1)
        intervals.fire()
      }
    },
  }
}

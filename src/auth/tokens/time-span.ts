const SECONDS_PER_UNIT: Readonly<Record<string, number>> = {
  ...{ ms: 0.001, msec: 0.001, millisecond: 0.001 },
  ...{ s: 1, sec: 1, second: 1 },
  ...{ m: 60, min: 60, minute: 60 },
  ...{ h: 3600, hr: 3600, hour: 3600 },
  ...{ d: 86_400, day: 86_400 },
  ...{ w: 604_800, week: 604_800 },
  ...{ y: 31_557_600, yr: 31_557_600, year: 31_557_600 },
}

const TIME_SPAN = /^(-?\d{1,9}) ?([a-z]{1,12})$/

/**
 * Returns a span of time in whole seconds: numbers are seconds already, strings are a number with a
 * unit, as in `'90s'`, `'15m'`, `'1d'` or `'2 weeks'`.
 * @param name how errors name the option
 * @throws {TypeError} neither a number nor such a string
 */
export function toSeconds(span: unknown, name: string): number {
  if (typeof span === 'number' && Number.isFinite(span)) return Math.floor(span)
  const lowered = typeof span === 'string' ? span.toLowerCase() : ''
  const [, count, unit = ''] = TIME_SPAN.exec(lowered) ?? []
  const seconds = toUnitSeconds(unit) ?? toUnitSeconds(toSingular(unit))
  if (count !== undefined && seconds !== undefined) return Math.floor(Number(count) * seconds)
  throw new TypeError(
    `The '${name}' option is ${JSON.stringify(span)}: it takes seconds or a string like '15m' or '1d'`,
  )
}

function toUnitSeconds(unit: string): number | undefined {
  return Object.hasOwn(SECONDS_PER_UNIT, unit) ? SECONDS_PER_UNIT[unit] : undefined
}

/** Not of `ms`, which is no plural of `m`. */
function toSingular(unit: string): string {
  return unit.length > 2 && unit.endsWith('s') ? unit.slice(0, -1) : unit
}

import fc from 'fast-check'

export const CLIENTS = 10
/** How many tokens before the newest one can be repeated. */
export const MAX_BACK = 3

/** One request of a tab, and what happens to it. */
const REQUEST = fc.record({
  /** How far the tab is behind the newest token: one less than allowed, as the other tab may refresh. */
  back: fc.constantFrom(0, 0, 0, 0, 1, 1, 1, 2, MAX_BACK - 1),
  at: fc.nat(1),
  isLost: fc.constantFrom(true, false, false),
  /** Whether a tab that has lost its answer repeats the request at the same process. */
  stays: fc.boolean(),
})

/** What a client does in one round. A client that is logged out logs in instead. */
const TURN = fc.record({
  does: fc.constantFrom(
    ...Array<'refresh'>(10).fill('refresh'),
    ...Array<'be robbed'>(6).fill('be robbed'),
    ...Array<'meet the thief'>(5).fill('meet the thief'),
    ...(['log out', 'log out while refreshing', 'end all', 'end all but this', 'rest'] as const),
  ),
  /** Those of one tab, or of two at the same time. */
  requests: fc.oneof(fc.tuple(REQUEST), fc.tuple(REQUEST, REQUEST)),
  /** Whether thief and owner first use the copied token within the time for repeats. */
  isShared: fc.boolean(),
})

const ROUND = fc.record({
  turns: fc.array(TURN, { minLength: CLIENTS, maxLength: CLIENTS }),
  /** For rounds that kill a process: which one, and after how many answers. */
  killed: fc.nat(1),
  answers: fc.integer({ min: 1, max: 8 }),
})

type Valued<A> = A extends fc.Arbitrary<infer Value> ? Value : never
export type Request = Valued<typeof REQUEST>
export type Turn = Valued<typeof TURN>
export type Round = Valued<typeof ROUND>

/** Returns rounds, the same ones for the same seed. */
export function createRounds(seed: number, count: number): Round[] {
  return fc.sample(ROUND, { seed, numRuns: count })
}
